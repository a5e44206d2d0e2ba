import { describeError } from '../model/errors.ts'
import { runProgram } from './exec.ts'

/** Something that pods of our own need of the kernel, and whether it worked when it was tried. */
export interface Capability {
  readonly name: 'network-namespace' | 'process-namespace' | 'bind-mount' | 'veth' | 'bridge-address' | 'perl'
  /** Undefined where it works. */
  readonly problem: string | undefined
}

type Try = readonly [name: Capability['name'], ...command: string[]]

/** Each in namespaces that are gone with the program: nothing of the host changes. */
const tries: readonly Try[] = [
  ['network-namespace', 'unshare', '--net', 'true'],
  ['process-namespace', 'unshare', '--mount', '--pid', '--fork', '--mount-proc', 'true'],
  ['bind-mount', 'unshare', '--mount', 'mount', '--bind', '/etc', '/etc'],
  // It makes containers: container-init.pl.
  ['perl', 'perl', '-e', '1'],
  ['veth', 'unshare', '--net', 'ip', 'link', 'add', 'plt-a', 'type', 'veth', 'peer', 'name', 'plt-b'],
  [
    'bridge-address',
    'unshare',
    '--net',
    'sh',
    '-c',
    'ip link add plt-a type bridge && ip address add 192.0.2.1/32 dev plt-a',
  ],
]

/** Found out by trying, never by the platform's name. */
export function probeNamespaces(run: typeof runProgram = runProgram): Promise<readonly Capability[]> {
  return Promise.all(
    tries.map(async ([name, file = '', ...args]) => {
      try {
        await run(file, args, { timeoutMs: 10_000 })
        return { name, problem: undefined }
      } catch (error) {
        return { name, problem: describeError(error) }
      }
    }),
  )
}
