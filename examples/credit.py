"""From a boosted classifier to certified probabilities, a saved model and a report, on the CREDIT data.

python examples/credit.py tests/data/credit.csv.gz
"""

import sys

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

import fastbin as fb

if len(sys.argv) != 2:
    sys.exit(__doc__)
table = np.loadtxt(sys.argv[1], delimiter=",", skiprows=2)[:, 1:]
X, X_test, y, y_test = train_test_split(table[:, :-1], table[:, -1].astype(int), random_state=0)
X_train, X_calibration, y_train, y_calibration = train_test_split(X, y, random_state=0)
booster = HistGradientBoostingClassifier(random_state=0).fit(X_train, y_train)
clf = fb.sklearn.CalibratedClassifier(FrozenEstimator(booster)).fit(X_calibration, y_calibration)
print(clf.certificate(alpha=0.1))
clf.model_.save("credit.fbm")
assessment = fb.report.assess_model(clf.model_, booster.predict_proba(X_test)[:, 1], y_test)
fb.report.write_report("credit.html", assessment, title="Missed payments", model_source="credit.fbm")
