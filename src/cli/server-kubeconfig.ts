import type { Command } from 'commander'
import { issueKubeconfig, serverUrl } from '../app/composition/cluster-files.ts'
import type { Options } from '../app/context.ts'
import { ConfigError } from '../config/index.ts'
import { isDnsSubdomain } from '../model/selector.ts'
import { writeSecretFile } from '../pki/index.ts'
import type { CliContext } from './program.ts'

interface KubeconfigFlags {
  readonly node?: string
  readonly user?: string
  readonly group: readonly string[]
  readonly url?: string
  readonly out?: string
}

/** `platnet server kubeconfig` issues an identity for a node's agent or for a user. */
export function addKubeconfigCommand(server: Command, context: CliContext, readOptions: () => Promise<Options>): void {
  server
    .command('kubeconfig')
    .description('issues a kubeconfig for a node or a user, signed by the CA of the data directory')
    .option('--node <name>', 'for the agent of that node')
    .option('--user <name>', 'for that user')
    .option('--group <name>', 'a group of the user, may be given again', collect, [])
    .option('--url <url>', 'where the owner reaches the server, such as https://192.0.2.1:6443')
    .option('--out <file>', 'write it there, readable by its owner only, instead of to standard output')
    .action(async (flags: KubeconfigFlags) => {
      const { app, api } = (await readOptions()).values
      const url = flags.url ?? serverUrl(api.bindAddress, api.securePort)
      const text = await issueKubeconfig(app.dataDir, { ...identityOf(flags), server: url })
      if (flags.out === undefined) context.stdout.write(text)
      else await writeSecretFile(flags.out, text)
      if (flags.url === undefined && isLoopback(url))
        context.stderr.write(`note: it names ${url}, which only this machine reaches; --url is for another one\n`)
    })
}

function identityOf({ node, user, group }: KubeconfigFlags): { user: string; groups: readonly string[] } {
  if (node !== undefined && !isDnsSubdomain(node))
    throw new ConfigError('config-invalid', [
      `--node: expected the name of a Node, such as node-2, got ${JSON.stringify(node)}`,
    ])
  if (node !== undefined && user === undefined) return { user: `system:node:${node}`, groups: ['system:nodes'] }
  if (user !== undefined && node === undefined) return { user, groups: group }
  throw new ConfigError('config-invalid', ['expected one of --node and --user'])
}

function isLoopback(url: string): boolean {
  return /^https:\/\/(127\.|\[::1\]|localhost[:/])/.test(url)
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value]
}
