"""Machine code only for what Python calls.

Numba optimises every function and makes machine code of it as soon as it is compiled, though a function that only
kernels call is linked into them in LLVM's own language and optimised there once more. Of some 240 functions that a
first ``track`` compiles, Python calls 33: a third of the time went into code that nobody ran.

Optimising leaves results as they are, bit for bit: LLVM may not reorder floating-point arithmetic here.
"""

import inspect
from typing import Any

from numba.core import codegen
from numba.core.environment import lookup_environment
from numba.core.registry import cpu_target

_RECURSION = codegen.RuntimeLinker.PREFIX
_USED = (
    *("_finalize_final_module", "_optimize_final_module", "_optimize_functions", "_finalize_dynamic_globals"),
    *("_verify_declare_only_symbols", "_ensure_finalized", "get_pointer_to_function", "serialize_using_object_code"),
)


class LazyLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
    """Code of one function that is optimised and made machine code when somebody asks for its address."""

    _deferred = False
    """Whether it is linked, but neither optimised nor machine code."""

    def finalize(self) -> None:
        """Link in what the function calls; the rest waits."""
        self._deferred = True
        super().finalize()

    def _optimize_functions(self, module: Any) -> None:
        """Shrink each function before it is linked; those that are only named here have nothing to shrink."""
        module.data_layout = self._codegen._data_layout
        for function in module.functions:
            if not function.is_declaration:
                passes, builder = self._codegen._function_pass_manager(opt=1)
                passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        if not self._deferred:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        if not self._deferred:
            super()._finalize_final_module()
            return
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True
        if any(variable.name.startswith(_RECURSION) for variable in self._final_module.global_variables):
            self._emit()  # it is called through its address

    def _emit(self) -> None:
        """Optimise, make machine code, and tell it of the environments of all that is linked in."""
        if not self._deferred:
            return
        self._deferred = False
        self._dynamic_globals.clear()
        self._optimize_final_module()
        self._final_module.verify()
        self._finalize_final_module()
        for variable in self._final_module.global_variables:
            if variable.name in self._codegen.waiting:
                environment = lookup_environment(variable.name)
                if environment is not None:
                    self._codegen.set_env(variable.name, environment)

    def get_pointer_to_function(self, name: str) -> int:
        """Address of a function, 0 if it is not in this library."""
        self._ensure_finalized()
        if self._deferred:
            try:
                if self._final_module.get_function(name).is_declaration:
                    return 0
            except NameError:
                return 0
            self._emit()
        address: int = super().get_pointer_to_function(name)
        return address

    def serialize_using_object_code(self) -> Any:
        """Return what is kept on disk: machine code, or what others link in where there is none."""
        self._ensure_finalized()
        if self._deferred:
            return self.serialize_using_bitcode()
        return super().serialize_using_object_code()

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        name, kind, data = state
        if kind != "bitcode":
            return super()._unserialize(codegen, state)
        library = codegen.create_library(name)
        library._final_module = _parse(data)
        library._deferred = True
        library._finalize_final_module()
        return library


def _parse(data: bytes) -> Any:
    return codegen.ll.parse_bitcode(data)


def defer_machine_code() -> None:
    """Let Numba make machine code when it is asked for, if this is a Numba whose inner matters are as expected."""
    compiler = cpu_target.target_context.codegen()
    parameters = inspect.signature(compiler._function_pass_manager).parameters.values()
    expected = all(hasattr(codegen.JITCodeLibrary, name) for name in _USED)
    if not expected or [p.kind for p in parameters] != [inspect.Parameter.VAR_KEYWORD]:
        return
    if type(compiler)._library_class is not codegen.JITCodeLibrary or hasattr(compiler, "waiting"):
        return
    set_environment = compiler.set_env

    def set_or_wait(name: str, environment: Any) -> None:
        """Write the address of an environment where the code will look for it, once there is code."""
        if compiler._engine.is_symbol_defined(name):
            set_environment(name, environment)
        else:
            compiler.waiting.add(name)

    compiler.waiting = set()
    compiler.set_env = set_or_wait
    compiler._library_class = LazyLibrary
