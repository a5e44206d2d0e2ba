import { readFileSync } from 'node:fs'
import { arch, cpus, release, totalmem } from 'node:os'
import type { Ip } from '../../model/ip.ts'
import { agentVersion } from '../../model/node.ts'
import type { MachineInfo } from '../../node/registration/index.ts'
import { readBuildInfo } from '../../observe/index.ts'

const architectures: Readonly<Record<string, string>> = { x64: 'amd64' }

/** Collects what this machine reports in its Node object; its address may change. */
export function findMachineInfo(name: string, port: number, nodeAddress: () => Ip | undefined): MachineInfo {
  return {
    name,
    get addresses() {
      const address = nodeAddress()
      return address === undefined ? [] : [address]
    },
    architecture: architectures[arch()] ?? arch(),
    kernelVersion: release(),
    osImage: readOsName(),
    version: agentVersion(readBuildInfo().version),
    cpus: cpus().length,
    memoryBytes: totalmem(),
    agentPort: port,
  }
}

/** Reads PRETTY_NAME of os-release(5); empty if unknown. */
function readOsName(): string {
  try {
    return /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? ''
  } catch {
    return ''
  }
}
