export {
  ExecError,
  type ExecErrorCode,
  type ProgramExit,
  type ProgramResult,
  type RunningProgram,
  type RunOptions,
  runProgram,
  type StartOptions,
  startProgram,
} from './exec.ts'
export { writeFileAtomically } from './files.ts'
export {
  addAddress,
  addRoute,
  attachToBridge,
  createBridge,
  createVethPair,
  deleteLink,
  type Link,
  type LinkAddress,
  moveLink,
  type Route,
  setLinkUp,
} from './links.ts'
export { createNetns, deleteNetns, listNetns, NetworkNameError, runInNetns, startInNetns } from './netns.ts'
export {
  type Finding,
  type Listener,
  nodePrograms,
  probePorts,
  probePrivilege,
  probePrograms,
  probeSysctls,
} from './probes.ts'
export { applySysctls, nodeSysctls, type SysctlResult } from './sysctl.ts'
export { createNotifier, type Notifier } from './systemd.ts'
