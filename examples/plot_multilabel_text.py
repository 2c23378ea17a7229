"""
Texts with several labels
=========================

Each text may have several labels, or none. All labels are columns over the same sparse
rows.
"""

# %%
# Texts
# -----
# Made up here, so that nothing has to be downloaded: 40 topics have favourite words,
# and each text mixes the words of one to three topics with words that anyone uses.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.model_selection import train_test_split

from pegasos import PegasosClassifier

rng = np.random.default_rng(0)
syllables = ["ba", "do", "ki", "lu", "me", "no", "pa", "ri", "so", "tu", "ve", "za"]
words = np.array(sorted({"".join(rng.choice(syllables, 3)) for _ in range(3000)}))
topics = [f"topic {number:02d}" for number in range(40)]
favourites = {topic: rng.choice(words, 30) for topic in topics}


def text_of(labels):
    own = [rng.choice(favourites[topic], 4) for topic in labels]
    return " ".join(rng.permutation(np.concatenate([rng.choice(words, 25), *own])))


counts = rng.integers(1, 4, size=4000)
labels = [set(rng.choice(topics, count, replace=False).tolist()) for count in counts]
texts = [text_of(sorted(row)) for row in labels]
print(sorted(labels[0]), "–", texts[0][:70], "…")

# %%
# Sets of labels go in, sets come out
# -----------------------------------
# An indicator matrix, dense or sparse, is as good as sets.

train_texts, test_texts, train_labels, test_labels = train_test_split(
    texts, labels, random_state=0
)
vectorizer = TfidfVectorizer()
X_train = vectorizer.fit_transform(train_texts)
X_test = vectorizer.transform(test_texts)
model = PegasosClassifier(C=10).fit(X_train, train_labels)
predicted = model.predict(X_test)
print(
    f"rows {X_train.shape[0]} × {X_train.shape[1]}, {len(model.classes_)} labels, "
    f"converged {model.converged_.all()}"
)
print("true:     ", sorted(test_labels[1]))
print("predicted:", sorted(predicted[1]))

# %%
# The best labels of each text, with their scores, without the scores of all labels in
# memory at once:

best, scores = model.top_labels(X_test[:3], k=3)
for names, values in zip(best, scores, strict=True):
    print(", ".join(map("{} {:+.2f}".format, names, values)))

# %%
# How C changes what is found
# ---------------------------
# A larger C fits each label more closely: it finds more of the labels that are there,
# and some that are not.

strengths = [0.3, 0.5, 1, 2, 5, 10, 30]
indicator = lambda sets: np.array([[topic in row for topic in topics] for row in sets])
truth, found = indicator(test_labels), []
for C in strengths:
    fitted = PegasosClassifier(C=C).fit(X_train, train_labels)
    found.append(indicator(fitted.predict(X_test)))
fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
scores = {"precision": precision_score, "recall": recall_score, "F1": f1_score}
for name, score in scores.items():
    values = [score(truth, rows, average="micro", zero_division=1) for rows in found]
    ax.plot(strengths, values, "o-", label=name)
ax.set(xscale="log", xlabel="C", ylabel="on texts not trained on")
ax.set_title("40 labels, 3000 texts to learn from")
ax.legend()
ax.grid(alpha=0.3)
plt.show()
