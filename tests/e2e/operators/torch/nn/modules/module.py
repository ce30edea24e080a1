"""Module, with the hooks of all modules."""
before, after = [], []


def register_module_forward_pre_hook(hook):
    before.append(hook)


def register_module_forward_hook(hook):
    after.append(hook)


class Module:
    def __init__(self, **children):
        self.inner = children

    def named_modules(self, prefix=""):
        yield prefix, self
        for name, child in self.inner.items():
            yield from child.named_modules(prefix + ("." if prefix else "") + name)

    def __call__(self, x):
        for hook in before:
            hook(self, (x,))
        result = self.forward(x)
        for hook in after:
            hook(self, (x,), result)
        return result


class Linear(Module):
    def forward(self, x):
        import torch
        return torch.operator("aten::linear", torch.operator, "aten::addmm", torch.kernel, x)


class Sequential(Module):
    def forward(self, x):
        for child in self.inner.values():
            x = child(x)
        return x
