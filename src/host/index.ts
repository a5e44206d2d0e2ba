export {
  deleteFlows,
  deleteFlowsBetween,
  deleteFlowsOf,
  type Flow,
  type FlowEnds,
  listFlowEnds,
  listFlows,
} from './conntrack.ts'
export { DescriptorSocket, isInternetSocket, type PassedMessage } from './descriptor-socket.ts'
export { EngineClient, EngineError, engineSockets } from './engine-client.ts'
export { FileWatch } from './file-watch.ts'
export { KeptFiles } from './kept-files.ts'
export {
  addAddress,
  addHostAddress,
  addRoute,
  allowHairpin,
  attachToBridge,
  createBridge,
  createDummyLink,
  createVethPair,
  deleteLink,
  findBridgePorts,
  type Link,
  type LinkAddress,
  removeHostAddress,
  removeLocalSource,
  setLinkUp,
  setLocalSource,
} from './links.ts'
export { localAddresses } from './local-addresses.ts'
export { makeFolder } from './make-folder.ts'
export { claimName, findNameHolder, type NameHolder } from './name-claim.ts'
export { type Capability, probeNamespaces } from './namespace-probes.ts'
export { type ListEnd, NetfilterSocket } from './netfilter-socket.ts'
export { createNetns, deleteNetns, isNamespace, listNetns } from './netns.ts'
export { NetnsMaker } from './netns-maker.ts'
export { type NftCommit, type NftListener, NftMonitor } from './nft-monitor.ts'
export {
  NftError,
  type NftSession,
  type NftSessionKind,
  openNftSession,
} from './nftables/index.ts'
export { findSocketOwner } from './port-owner.ts'
export {
  type Finding,
  type Listener,
  nodePrograms,
  probePorts,
  probePrivilege,
  probePrograms,
  probeSysctls,
} from './probes.ts'
export { isGone, nameProcess } from './process-name.ts'
export {
  findGroupLeaders,
  findProcess,
  isAlive,
  type ProcessIdentity,
  readEnvironment,
  signalGroup,
  signalProcess,
  startDetached,
} from './processes.ts'
export {
  type BackgroundOptions,
  createFastRun,
  ExecError,
  isTextBusy,
  type ProgramExit,
  type ProgramResult,
  type Run,
  type RunningProgram,
  type RunOptions,
  runProgram,
} from './programs/index.ts'
export { FileError, readRegularFileSync } from './regular-file.ts'
export { interfaceTowards } from './route-to.ts'
export {
  applySysctls,
  bridgeIpv6Sysctl,
  conntrackSysctls,
  nodeSysctls,
  readSysctl,
  type SysctlResult,
  type SysctlWish,
} from './sysctl.ts'
export { createNotifier, type Notifier, readWatchdogMs } from './systemd.ts'
export { type TarFile, tarGz } from './tar.ts'
