"""A reference implementation of the tabular transformer in plain PyTorch, with explicit masks and partly
one table at a time. It shares only the weights with the library.
"""

import math

import torch
import torch.nn.functional as TF


def standardise(x, known):
    """Columns of x (rows, columns) by the finite numbers of the first `known` rows."""
    x = x.double()
    out = torch.zeros_like(x)
    for c in range(x.shape[1]):
        seen = x[:known, c]
        seen = seen[torch.isfinite(seen)]
        if len(seen) == 0:
            continue
        mean, deviation = seen.mean(), seen.std(correction=0)
        if deviation > 1e-7 * mean.abs() and deviation > 1e-30:
            out[:, c] = ((x[:, c] - mean) / deviation).clamp(-100, 100)
    return out


def expand(column, z, known):
    """The rank of each cell of a column among the first `known`, and 16 bumps of its z-score: (rows, 17)."""
    seen = column[:known][torch.isfinite(column[:known])].double()
    below = (seen < column[:, None]).double() + 0.5 * (seen == column[:, None]).double()
    rank = below.mean(1).float() if len(seen) and bool((z[:known] != 0).any()) else torch.full_like(z, 0.5)
    bumps = torch.exp(-0.5 * ((z[:, None] + 3) / 0.4 - torch.arange(16.0)) ** 2)
    cells = torch.cat([rank[:, None], bumps], 1)
    return torch.where(torch.isnan(column)[:, None], 0.0, cells)


def mix(word):
    """splitmix64."""
    word = (word + 0x9E3779B97F4A7C15) % 2**64
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % 2**64
    return word ^ (word >> 31)


def class_codes(y, features, known):
    """The codes (known, 32) of the classes of a table's context rows."""
    key = mix(mix(mix(int(y.sum())) ^ features) ^ known)
    bits = [[mix(key ^ int(label)) >> k & 1 for k in range(32)] for label in y]
    return (2 * torch.tensor(bits, dtype=torch.float32).reshape(-1, 32) - 1) / math.sqrt(32)


class Twin:
    def __init__(self, config, state):
        self.config = config
        self.weights = {
            name: torch.tensor(values, requires_grad=name != "borders")
            for name, values in state.items()
        }

    def __getitem__(self, name):
        return self.weights[name]

    def feature_tokens(self, features):
        return max(min(features, 16), math.ceil(features / self.config["columns_per_token"]))

    def linear(self, name, x):
        return TF.linear(x, self[f"{name}.weight"], self.weights.get(f"{name}.bias"))

    def encode(self, x, y, rows, features, known, room_rows, room_columns):
        """Tokens (thinking + room_rows, room_columns, width) of one table."""
        c = self.config
        weight = self["encoder"]  # (width, inputs)
        group, thinking = c["group"], c["thinking"]
        one_hot = c["classes"] > 0 and not c["class_as_number"]
        coded = c["decoder"] == "retrieval"
        n_target = 32 if coded else c["classes"] if one_hot else 1
        n_cell = 2 + 1 + 16 if c["cell_encoding"] == "radial" else 2
        at = {"missing": group, "feature": n_cell * group, "target": n_cell * group + 1}
        at["known"] = at["target"] + n_target
        at["query"] = at["known"] + 1
        at["thinking"] = at["query"] + 1
        tokens = torch.zeros(thinking + room_rows, room_columns, weight.shape[0])
        for t in range(thinking):
            tokens[t] += weight[:, at["thinking"] + t]
        if rows == 0:
            return tokens
        values = standardise(x[:rows, :features], known).float()
        missing = torch.isnan(x[:rows, :features])
        values = torch.where(missing, 0.0, values)
        n_tokens, shared = self.feature_tokens(features), c["columns_per_token"]
        for j in range(n_tokens):
            token = weight[:, at["feature"]].expand(rows, -1)
            for member in range(group):
                after = member if member < shared else 2**member - 1
                source = (j * features // n_tokens + after) % features
                token = token + values[:, source, None] * weight[:, member]
                token = token + missing[:, source, None].float() * weight[:, group + member]
                if c["cell_encoding"] == "radial":
                    cells = expand(x[:rows, source], values[:, source], known)
                    token = token + cells @ weight[:, 2 * group + member : at["feature"] : group].T
            tokens[thinking : thinking + rows, 1 + j] = token
        y_known = y[:known]
        if coded:
            codes = class_codes(y_known, features, known)
            label_input = codes @ weight[:, at["target"] : at["known"]].T + weight[:, at["known"]]
            asked = weight[:, at["query"]].expand(rows - known, -1)
        elif one_hot:
            label_input = weight[:, at["target"] : at["known"]].T[y_known.long()] + weight[:, at["known"]]
            asked = weight[:, at["query"]].expand(rows - known, -1)
        elif c["class_as_number"]:
            mean = y_known.double().mean().float() if known else torch.tensor(0.0)
            label_input = y_known[:, None] * weight[:, at["target"]] + weight[:, at["known"]]
            asked = (mean * weight[:, at["target"]] + weight[:, at["known"]]).expand(rows - known, -1)
        else:
            z = standardise(y_known[:, None], known).float()
            label_input = z * weight[:, at["target"]] + weight[:, at["known"]]
            asked = weight[:, at["query"]].expand(rows - known, -1)
        tokens[thinking : thinking + known, 0] = label_input
        tokens[thinking + known : thinking + rows, 0] = asked
        if c["labels"] == "cells":
            tokens[thinking : thinking + known, 1 : 1 + n_tokens] += label_input[:, None]
        return tokens

    def norm(self, name, x):
        weight = self[f"{name}.weight"]
        if self.config["pre_norm"]:
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * weight
        return TF.layer_norm(x, weight.shape, weight, self[f"{name}.bias"], 1e-5)

    def mlp(self, name, x):
        hidden = TF.gelu(self.linear(f"{name}.in", x), approximate="tanh")
        return self.linear(f"{name}.out", hidden)

    def attend(self, name, x, mask):
        """Of (batch, length, width) with a mask (batch, length) of what is seen."""
        batch, length, width = x.shape
        heads = self.config["heads"]
        qkv = self.linear(f"{name}.qkv", x)
        q, k, v = qkv.view(batch, length, heads, 3, width // heads).permute(3, 0, 2, 1, 4)
        if f"{name}.scale.slope" in self.weights:
            n_keys = max(int(mask[0].sum()), 1)
            scale = self[f"{name}.scale.slope"] * math.log(n_keys) + self[f"{name}.scale.offset"]
            q = q * scale[:, None, None]
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // heads)
        scores = scores.masked_fill(~mask[:, None, None, :], -math.inf)
        seen = torch.softmax(scores, -1) if mask.any() else torch.zeros_like(scores)
        out = (seen @ v).transpose(1, 2).reshape(batch, length, width)
        if not self.config["projection"]:
            return out
        return self.linear(f"{name}.projection", out)

    def layer(self, i, x, column_mask, row_mask):
        """x (rows, columns, width) of one table."""
        pre = self.config["pre_norm"]
        name = f"layers.{i}"

        def branch(number, x, residual, function):
            if pre:
                return residual + function(self.norm(f"{name}.norm{number}", x))
            return self.norm(f"{name}.norm{number}", residual + function(x))

        def among_columns(x):
            return self.attend(f"{name}.columns", x, column_mask.expand(x.shape[0], -1))

        def among_rows(x):
            x = x.transpose(0, 1)
            return self.attend(f"{name}.rows", x, row_mask.expand(x.shape[0], -1)).transpose(0, 1)

        branches = {
            "columns": among_columns,
            "rows": among_rows,
            "mlp": lambda x: self.mlp(f"{name}.mlp", x),
        }
        first, second, third = self.config["layer_order"].split(",")
        x = branch(1, x, x * self.config["residual_decay"] ** i, branches[first])
        x = branch(2, x, x, branches[second])
        return branch(3, x, x, branches[third])

    def retrieve(self, read, labels):
        """Log of the attention weights on the labelled rows, added up by class, mean over heads."""
        heads, known = self.config["heads"], len(labels)
        q, k = self.linear("decoder.query", read), self.linear("decoder.key", read[:known])
        q, k = (each.view(len(each), heads, -1).transpose(0, 1) for each in (q, k))
        weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), -1)
        shares = weights @ TF.one_hot(labels.long(), self.config["classes"]).float()
        return torch.log(shares.mean(0) + 1e-5)

    def logits(self, x, y, sizes):
        c = self.config
        said = []
        for table, (rows, features, known) in enumerate(sizes):
            n_tokens = self.feature_tokens(features)
            room_rows, room_columns = x.shape[1], 1 + self.feature_tokens(x.shape[2])
            tokens = self.encode(x[table], y[table], rows, features, known, room_rows, room_columns)
            column_mask = torch.arange(room_columns) <= n_tokens
            row_mask = torch.arange(c["thinking"] + room_rows) < c["thinking"] + known
            for i in range(c["layers"]):
                tokens = self.layer(i, tokens, column_mask, row_mask)
            if c["pre_norm"]:
                tokens = self.norm("norm", tokens)
            tokens = tokens[c["thinking"] :]
            if c["mean_readout"]:
                read = tokens[:, 1 : 1 + n_tokens].sum(1) / max(n_tokens, 1)
            else:
                read = tokens[:, 0]
            if c["decoder"] == "retrieval":
                said.append(self.retrieve(read, y[table, :known]))
            else:
                said.append(self.mlp("decoder", read))
        return torch.stack(said)

    def loss(self, x, y, sizes):
        """The mean over the tables of their rows' means, and the logits."""
        logits = self.logits(x, y, sizes)
        parts = []
        for table, (rows, _, known) in enumerate(sizes):
            target = y[table, known:rows]
            if self.config["classes"] == 0 and rows > known:
                seen = y[table, :known].double()
                z = (target.double() - seen.mean()) / seen.std(correction=0)
                target = torch.bucketize(z.float(), self["borders"], right=True)
            if rows > known:
                parts.append(TF.cross_entropy(logits[table, known:rows], target.long()))
        return sum(parts) / len(sizes), logits
