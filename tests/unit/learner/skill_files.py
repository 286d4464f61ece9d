"""`SKILL.md` files as other people write them."""

from __future__ import annotations

FOREIGN = """---
name: pdf-forms
description: "Use when the user says \\"fill in this form\\": PDF, fields, 'ticks'."
license: Proprietary. LICENSE.txt has complete terms
allowed-tools:
  - Bash(pdftk:*)
  - Read
metadata:
  author: example-org
  version: 1.10
  tags: [pdf, forms]
  nested: {"os": ["linux", 2]}
---

```sh
# not a heading
```

# Filling in PDF forms #

Body with --- inside.

---

More.
"""


def skill(front: str, body: str = "Body.") -> str:
    return f"---\n{front}\n---\n\n{body}"
