import { type Finding, nodePrograms, probePorts, probePrivilege, probePrograms, probeSysctls } from '../host/index.ts'
import { PlatnetError } from '../model/errors.ts'
import { probeIptables } from '../node/rules/index.ts'
import type { AppContext, Options } from './context.ts'

export class CheckError extends PlatnetError<'not-fit' | 'EPERM'> {}

export interface HostCheck {
  readonly findings: readonly Finding[]
  readonly lacksPrivilege: boolean
}

/** Everything that `platnet check` looks at; changes nothing. */
export async function checkHost(options: Options): Promise<HostCheck> {
  const { api, node } = options.values
  const listeners = [
    { protocol: 'tcp', address: api.bindAddress, port: api.securePort, option: '--secure-port' },
    { protocol: 'tcp', address: '0.0.0.0', port: node.port, option: '--port' },
  ] as const
  const lacksPrivilege = (await probePrivilege()).some(isFailure)
  const findings = [...(await checkNode()), ...(await probeSysctls()), ...(await probePorts(listeners))]
  return { findings, lacksPrivilege }
}

/** The same at the start of an agent, without what the start itself finds out: each warning is logged, a failure ends it. */
export async function checkBeforeStart(context: AppContext): Promise<void> {
  const log = context.logging.logger('platform_kubelet').child('check')
  const findings = await checkNode()
  for (const { level, what, remedy } of findings) if (level === 'warn') log.warn(what, { remedy })
  const failed = findings.find(isFailure)
  if (!failed) return
  const isPrivilege = (await probePrivilege()).some(isFailure)
  throw new CheckError(isPrivilege ? 'EPERM' : 'not-fit', failed.what, failed.remedy ? { remedy: failed.remedy } : {})
}

async function checkNode(): Promise<readonly Finding[]> {
  const privilege = await probePrivilege()
  if (privilege.some(isFailure)) return privilege
  return [...privilege, ...(await probePrograms(nodePrograms)), ...(await probeIptables())]
}

function isFailure({ level }: Finding): boolean {
  return level === 'fail'
}
