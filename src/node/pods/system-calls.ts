/** The numbers of Linux' system calls on one architecture (asm/unistd.h) that containers need. */
export interface SystemCalls {
  /** The architecture in a seccomp filter (AUDIT_ARCH_…). */
  readonly auditArchitecture: number
  /** O_NOFOLLOW */
  readonly openNoFollow: number
  /** The calls of container-init.pl. */
  readonly init: Readonly<Record<InitCall, number>>
  /** The calls that a container must not make. */
  readonly refused: readonly number[]
  readonly clone: number
  readonly socket: number
  readonly personality: number
}

type InitCall =
  | 'capget'
  | 'capset'
  | 'close_range'
  | 'keyctl'
  | 'mount'
  | 'mount_setattr'
  | 'move_mount'
  | 'open_tree'
  | 'pivot_root'
  | 'prctl'
  | 'seccomp'
  | 'setgroups'
  | 'sethostname'
  | 'setns'
  | 'setresgid'
  | 'setresuid'
  | 'umount2'
  | 'unshare'

/** Refused calls since Linux 5.1, whose numbers are equal on all architectures. */
const newCalls = {
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  pidfd_getfd: 438,
  mount_setattr: 442,
  quotactl_fd: 443,
  set_mempolicy_home_node: 450,
}
/** Calls with a higher number are refused as unknown. */
export const lastKnownCall = 456
/** Refused because they change the machine (clock, modules, mounts, namespaces, keys, memory placement) or read the kernel or other processes' files. */
const refusedX64 = {
  ...{ uselib: 134, ustat: 136, sysfs: 139, vhangup: 153, pivot_root: 155, _sysctl: 156, acct: 163, settimeofday: 164 },
  ...{ mount: 165, umount2: 166, swapon: 167, swapoff: 168, reboot: 169, sethostname: 170, setdomainname: 171 },
  ...{ iopl: 172, ioperm: 173, create_module: 174, init_module: 175, delete_module: 176, get_kernel_syms: 177 },
  ...{ query_module: 178, quotactl: 179, nfsservctl: 180, getpmsg: 181, putpmsg: 182, afs_syscall: 183, tuxcall: 184 },
  ...{ security: 185, syslog: 103, lookup_dcookie: 212, epoll_ctl_old: 214, epoll_wait_old: 215, clock_settime: 227 },
  ...{ vserver: 236, mbind: 237, set_mempolicy: 238, get_mempolicy: 239, kexec_load: 246, add_key: 248 },
  ...{ request_key: 249, keyctl: 250, migrate_pages: 256, unshare: 272, move_pages: 279, perf_event_open: 298 },
  ...{ fanotify_init: 300, open_by_handle_at: 304, clock_adjtime: 305, setns: 308, kcmp: 312, finit_module: 313 },
  ...{ kexec_file_load: 320, bpf: 321, userfaultfd: 323 },
}
const refusedArm64 = {
  ...{ lookup_dcookie: 18, umount2: 39, mount: 40, pivot_root: 41, nfsservctl: 42, vhangup: 58, quotactl: 60 },
  ...{ acct: 89, unshare: 97, kexec_load: 104, init_module: 105, delete_module: 106, clock_settime: 112, syslog: 116 },
  ...{ reboot: 142, sethostname: 161, setdomainname: 162, settimeofday: 170, add_key: 217, request_key: 218 },
  ...{ keyctl: 219, swapon: 224, swapoff: 225, mbind: 235, get_mempolicy: 236, set_mempolicy: 237 },
  ...{ migrate_pages: 238, move_pages: 239, perf_event_open: 241, fanotify_init: 262, open_by_handle_at: 265 },
  ...{ clock_adjtime: 266, setns: 268, kcmp: 272, finit_module: 273, bpf: 280, userfaultfd: 282 },
  ...{ kexec_file_load: 294 },
}

const x64: SystemCalls = {
  auditArchitecture: 0xc000_003e,
  openNoFollow: 0x2_0000,
  init: {
    ...{
      capget: 125,
      capset: 126,
      close_range: 436,
      keyctl: 250,
      mount: 165,
      mount_setattr: 442,
      move_mount: 429,
      open_tree: 428,
      pivot_root: 155,
    },
    ...{ prctl: 157, seccomp: 317, setgroups: 116, sethostname: 170, setns: 308, setresgid: 119, setresuid: 117 },
    ...{ umount2: 166, unshare: 272 },
  },
  refused: [...Object.values(refusedX64), ...Object.values(newCalls)],
  clone: 56,
  socket: 41,
  personality: 135,
}

const arm64: SystemCalls = {
  auditArchitecture: 0xc000_00b7,
  openNoFollow: 0x8000,
  init: {
    ...{
      capget: 90,
      capset: 91,
      close_range: 436,
      keyctl: 219,
      mount: 40,
      mount_setattr: 442,
      move_mount: 429,
      open_tree: 428,
      pivot_root: 41,
    },
    ...{ prctl: 167, seccomp: 277, setgroups: 159, sethostname: 161, setns: 268, setresgid: 149, setresuid: 147 },
    ...{ umount2: 39, unshare: 97 },
  },
  refused: [...Object.values(refusedArm64), ...Object.values(newCalls)],
  clone: 220,
  socket: 198,
  personality: 92,
}

/** Returns undefined for an architecture on which containers cannot be processes. */
export function systemCallsOf(architecture: string): SystemCalls | undefined {
  return { x64, arm64 }[architecture]
}
