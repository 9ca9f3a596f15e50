"""A boosted classifier with its calibrator in one estimator: its certificate, its model and a report, on a small data set.

python examples/breast_cancer.py
"""

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

import fastbin as fb

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, X_test, y, y_test = train_test_split(X, y, random_state=0)
booster = HistGradientBoostingClassifier(min_samples_leaf=10, random_state=0)
clf = fb.sklearn.CalibratedClassifier(booster, calibrator=fb.UniformMassBinning(2), holdout=0.4, random_state=0).fit(X, y)
print(f"{clf.score(X_test, y_test):.1%} of {len(y_test)} test rows are classified as they are")
print(clf.certificate(alpha=0.1))
clf.model_.save("tumours.fbm")
assessment = fb.report.assess_model(clf.model_, clf.estimator_.predict_proba(X_test)[:, 1], y_test)
fb.report.write_report("tumours.html", assessment, title="Benign tumours", model_source="tumours.fbm")
