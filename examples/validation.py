"""PDs of rating grades on new rows: those from the rows of training fail, those from later rows hold. On the CREDIT data.

python examples/validation.py tests/data/credit.csv.gz        (with scikit-learn installed)
"""

import sys

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

import fastbin as fb

if len(sys.argv) != 2:
    sys.exit(__doc__)
table = np.loadtxt(sys.argv[1], delimiter=",", skiprows=2)[:, 1:]
X, X_new, y, y_new = train_test_split(table[:, :-1], table[:, -1].astype(int), random_state=0)
X_train, X_later, y_train, y_later = train_test_split(X, y, random_state=0)
booster = HistGradientBoostingClassifier(random_state=0).fit(X_train, y_train)


def grades(X):
    return np.searchsorted([0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7], booster.predict_proba(X)[:, 1])


new, names = grades(X_new), np.array(list("ABCDEFGH"))
for rows, outcomes in ((X_train, y_train), (X_later, y_later)):
    own = grades(rows)
    pds = np.bincount(own, outcomes) / np.bincount(own)  # the observed rate of each grade
    found = fb.assess.assess(pds[new], y_new, by=names[new])
    print(found, end="\n\n")
np.savetxt("validated.csv", np.column_stack([pds[new], names[new], y_new]), "%s", ",", header="pd,grade,default", comments="")
