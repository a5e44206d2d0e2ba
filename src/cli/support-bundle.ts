import { hostname } from 'node:os'
import { writeSupportBundle } from '../app/commands/support-bundle.ts'
import { type OutputFormat, outputFlag, printAnswer, withProgress } from './output.ts'
import { type AddCommand, addOptionFlags, loadCommandOptions } from './program.ts'

const used = ['config', 'dataDir', 'podsDir', 'controlSocket', 'kubeconfig', 'tokenAuthFile', 'etcdPasswordFile']

/** `platnet support-bundle` works also while no daemon runs: what cannot be collected is named in the bundle. */
export const addSupportBundleCommand: AddCommand = (program, context) => {
  const command = program
    .command('support-bundle')
    .description('writes an archive with what a maintainer needs to find a fault; secrets are left out')
    .option('--out <file>', 'the archive; platnet-support-HOST-TIME.tar.gz in this folder when not given')
    .addOption(outputFlag())
  addOptionFlags(command, 'run', used).action(async ({ out, output }: { out?: string; output: OutputFormat }) => {
    const options = await loadCommandOptions(command, context, 'run')
    const time = new Date().toISOString().replaceAll(/[:.]/g, '-')
    const file = out ?? `platnet-support-${hostname()}-${time}.tar.gz`
    const bundle = await withProgress(context, 'collecting', writeSupportBundle(options, file))
    printAnswer(context, output, bundle, ({ bytes, names, missing }, isWide) =>
      [
        `${file}: ${names.length} files, ${Math.ceil(bytes / 1024)} KiB; look through it before you send it`,
        ...(isWide ? names : []),
        ...missing.map((line) => `missing ${line}`),
        '',
      ].join('\n'),
    )
  })
}
