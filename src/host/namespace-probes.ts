import { describeError } from '../model/errors.ts'
import { type Run, runProgram } from './programs/index.ts'

/** A kernel feature that our own pods need, with the result of an attempt to use it. */
export interface Capability {
  readonly name: 'network-namespace' | 'process-namespace' | 'bind-mount' | 'veth' | 'bridge-address' | 'perl'
  /** The error of the attempt; undefined if it worked. */
  readonly problem: string | undefined
}

type Try = readonly [name: Capability['name'], ...command: string[]]

/** Tries each feature in namespaces that end with the program, so that the host does not change. */
const tries: readonly Try[] = [
  ['network-namespace', 'unshare', '--net', 'true'],
  ['process-namespace', 'unshare', '--mount', '--pid', '--fork', '--mount-proc', 'true'],
  ['bind-mount', 'unshare', '--mount', 'mount', '--bind', '/etc', '/etc'],
  // Perl runs container-init.pl, which makes containers.
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

/** Decides by trying the features, never by the platform's name. */
export function probeNamespaces(run: Run = runProgram): Promise<readonly Capability[]> {
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
