import type { Command } from 'commander'
import { askEffect, askMatrix, type PolicyAnswer } from '../app/commands/policy.ts'
import type { Options } from '../app/context.ts'
import { visibleLines } from '../model/visible-text.ts'
import { type OutputFormat, outputFlag, printAnswer as printFormatted, withProgress } from './output.ts'
import { renderEffect, renderMatrix } from './policy-text.ts'
import { type AddCommand, addOptionFlags, type CliContext, loadCommandOptions } from './program.ts'

interface PolicyFlags {
  readonly namespace: string
  readonly output: OutputFormat
}

const policyOptions = ['config', 'kubeconfig', 'server', 'dataDir', 'controlSocket']

/** Limit of the problems that are printed. */
const maxProblems = 10

/** `platnet policy matrix` and `platnet policy test`, computed from the objects of the API server. */
export const addPolicyCommand: AddCommand = (program, context) => {
  const policy = program.command('policy').description('judges network policies without sending a packet')
  addMatrix(policy, context)
  addTest(policy, context)
}

function addMatrix(policy: Command, context: CliContext): void {
  const command = policy
    .command('matrix')
    .description('prints who reaches whom on which port, of all pods of a namespace')
    .option('-n, --namespace <namespace>', 'the namespace', 'default')
    .addOption(outputFlag())
  addOptionFlags(command, 'agent', policyOptions).action(async ({ namespace, output }: PolicyFlags) => {
    const options = await readOptions(command, context)
    printAnswer(
      context,
      output,
      await withProgress(context, 'reading the policies', askMatrix(options, namespace)),
      renderMatrix,
    )
  })
}

function addTest(policy: Command, context: CliContext): void {
  const command = policy
    .command('test')
    .description('prints what the policies of a manifest would change, and for whom; changes nothing')
    .requiredOption('-f, --file <file>', 'the manifest, YAML or JSON; - for standard input')
    .option('-n, --namespace <namespace>', 'of policies that name none', 'default')
    .addOption(outputFlag())
  addOptionFlags(command, 'agent', policyOptions).action(async (flags: PolicyFlags & { readonly file: string }) => {
    const options = await readOptions(command, context)
    printAnswer(
      context,
      flags.output,
      await withProgress(context, 'reading the policies', askEffect(options, flags.file, flags.namespace)),
      renderEffect,
    )
  })
}

async function readOptions(command: Command, context: CliContext): Promise<Options['values']> {
  return (await loadCommandOptions(command, context, 'agent')).values
}

/** Prints the answer on standard output and what it leaves out on standard error. */
function printAnswer<Answer>(
  context: CliContext,
  output: OutputFormat,
  { answer, problems }: PolicyAnswer<Answer>,
  render: (answer: Answer) => string,
): void {
  const more = problems.length - maxProblems
  const lines = [...problems.slice(0, maxProblems), ...(more > 0 ? [`and ${more} more problems`] : [])]
  for (const line of lines) context.stderr.write(visibleLines(`warning: ${line}\n`))
  printFormatted(context, output, answer, render)
}
