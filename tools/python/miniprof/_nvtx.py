"""NVTX without compiled code.

NVTX 3 is a header: each library that has it inside looks for a tool at its first call. This module
does what the header does, by ctypes. It takes the tool's path from NVTX_INJECTION64_PATH, which
`miniprof run` and the recorder set, loads it and calls InitializeInjectionNvtx2. The tool asks for
tables of function pointers and puts its functions there. nvtxTypes.h of NVTX has the numbers and
structs. Without a tool nothing is called.
"""
import ctypes
import threading
from ctypes import CFUNCTYPE, POINTER, PYFUNCTYPE, Structure, c_char_p, c_int, c_int32, c_size_t, \
    c_uint, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any, Dict, Optional

VERSION = 3
CALLBACKS, VERSION_INFO = 1, 3  # tables that the tool may ask for
CORE, CORE2 = 1, 5  # modules of functions, and their sizes
SIZES = {CORE: 16, CORE2: 16}
RANGE_PUSH_A, RANGE_POP = 9, 11  # of CORE
DOMAIN_RANGE_PUSH_EX, DOMAIN_RANGE_POP, DOMAIN_CREATE_A = 4, 5, 12  # of CORE2
MESSAGE_ASCII = 1


class Attributes(Structure):
    """nvtxEventAttributes_t"""
    _fields_ = [("version", c_uint16), ("size", c_uint16), ("category", c_uint32),
                ("color_type", c_int32), ("color", c_uint32), ("payload_type", c_int32),
                ("reserved", c_int32), ("payload", c_uint64), ("message_type", c_int32),
                ("message", c_char_p)]


class Callbacks(Structure):
    """NvtxExportTableCallbacks"""
    _fields_ = [("size", c_size_t), ("get_module", c_void_p)]


class VersionInfo(Structure):
    """NvtxExportTableVersionInfo"""
    _fields_ = [("size", c_size_t), ("version", c_uint32), ("reserved", c_uint32),
                ("set_version", c_void_p)]


class Tool:
    """What a tool has put into the tables. It lives as long as the process."""

    def __init__(self) -> None:
        self.functions = {module: (c_void_p * size)() for module, size in SIZES.items()}
        self.tables = {module: (c_void_p * size)(None, *(
            ctypes.addressof(self.functions[module]) + i * ctypes.sizeof(c_void_p)
            for i in range(1, size))) for module, size in SIZES.items()}
        self.get_module = CFUNCTYPE(c_int, c_int, POINTER(c_void_p),
                                    POINTER(c_uint))(self._get_module)
        self.set_version = CFUNCTYPE(None, c_uint32)(lambda _: None)
        self.exports = {
            CALLBACKS: Callbacks(ctypes.sizeof(Callbacks),
                                 ctypes.cast(self.get_module, c_void_p)),
            VERSION_INFO: VersionInfo(ctypes.sizeof(VersionInfo), VERSION, 0,
                                      ctypes.cast(self.set_version, c_void_p))}
        self.get_export = CFUNCTYPE(c_void_p, c_uint32)(self._get_export)
        self.domains: Dict[str, Any] = {}
        self.library: Any = None

    def _get_module(self, module: int, table: Any, size: Any) -> int:
        if module not in SIZES:
            return 0
        table[0] = ctypes.addressof(self.tables[module])
        size[0] = SIZES[module]
        return 1

    def _get_export(self, number: int) -> Optional[int]:
        return ctypes.addressof(self.exports[number]) if number in self.exports else None

    def load(self, path: bytes) -> bool:
        """Whether the tool is there and has begun."""
        try:
            self.library = ctypes.CDLL(path.decode("utf-8", "surrogateescape"))
            initialize = self.library.InitializeInjectionNvtx2
        except (OSError, AttributeError):
            return False
        initialize.argtypes = [c_void_p]
        if not initialize(ctypes.cast(self.get_export, c_void_p)):
            return False
        self.push_default = self._function(CORE, RANGE_PUSH_A, c_int, c_char_p)
        self.pop_default = self._function(CORE, RANGE_POP, c_int)
        self.push_domain = self._function(CORE2, DOMAIN_RANGE_PUSH_EX, c_int, c_void_p,
                                          POINTER(Attributes))
        self.pop_domain = self._function(CORE2, DOMAIN_RANGE_POP, c_int, c_void_p)
        self.create = self._function(CORE2, DOMAIN_CREATE_A, c_void_p, c_char_p)
        return True

    def _function(self, module: int, number: int, result: Any, *arguments: Any) -> Any:
        """The tool's function; where it has none, one that does nothing."""
        address = self.functions[module][number]
        return PYFUNCTYPE(result, *arguments)(address) if address else lambda *_: None

    def domain(self, name: str) -> Any:
        """The handle of a domain, which is made once."""
        if name not in self.domains:
            self.domains[name] = self.create(name.encode("utf-8", "backslashreplace"))
        return self.domains[name]


getenv = ctypes.PyDLL(None).getenv
getenv.restype, getenv.argtypes = c_char_p, [c_char_p]


class State:
    """The process's tool, once there is one."""
    tool: Optional[Tool] = None
    failed: Optional[bytes] = None
    lock = threading.Lock()


def _find() -> Optional[Tool]:
    """The variable is read as C has it: the recorder sets it after Python has copied it."""
    path = getenv(b"NVTX_INJECTION64_PATH")
    if not path or path == State.failed:
        return None
    with State.lock:
        if State.tool is None:
            tool = Tool()
            if tool.load(path):
                State.tool = tool
            else:
                State.failed = path
    return State.tool


def push(name: str, domain: Optional[str] = None) -> bool:
    """Begins a range of this thread. Whether a tool received it."""
    tool = State.tool or _find()
    if tool is None:
        return False
    text = name.encode("utf-8", "backslashreplace")
    if domain is None:
        tool.push_default(text)
    else:
        attributes = Attributes(VERSION, ctypes.sizeof(Attributes), message_type=MESSAGE_ASCII,
                                message=text)
        tool.push_domain(tool.domain(domain), ctypes.byref(attributes))
    return True


def pop(domain: Optional[str] = None) -> None:
    """Ends this thread's innermost range, which `push` began."""
    tool = State.tool
    if tool is None:
        return
    if domain is None:
        tool.pop_default()
    else:
        tool.pop_domain(tool.domain(domain))
