import { type BuildInfo, readBuildInfo } from '../observe/index.ts'
import { type OutputFormat, outputFlag, printAnswer } from './output.ts'
import type { AddCommand } from './program.ts'

/** `platnet version` needs no daemon and no privilege. */
export const addVersionCommand: AddCommand = (program, context) => {
  program
    .command('version')
    .description('prints the version, the commit it was built from, and the Node it runs on')
    .addOption(outputFlag())
    .action(({ output }: { output: OutputFormat }) =>
      printAnswer(context, output, describeBuild(readBuildInfo()), renderBuild),
    )
}

/** Answer of `platnet version -o json`; fields are added, not renamed. */
interface VersionAnswer {
  readonly version: string
  /** Empty if unknown. */
  readonly commit: string
  readonly nodeVersion: string
  /** `linux/x64`, in the notation of Node. */
  readonly platform: string
}

function describeBuild({ version, commit = '' }: BuildInfo): VersionAnswer {
  return { version, commit, nodeVersion: process.version, platform: `${process.platform}/${process.arch}` }
}

function renderBuild({ version, commit, nodeVersion, platform }: VersionAnswer): string {
  return `platnet ${version}\ncommit: ${commit || 'unknown'}\nnode: ${nodeVersion}\nplatform: ${platform}\n`
}
