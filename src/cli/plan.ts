import { askPlan } from '../app/commands/ask-agent.ts'
import type { PlanAnswer } from '../app/composition/proxy-questions.ts'
import { exitCodes } from './exit-code.ts'
import { type OutputFormat, outputFlag, printAnswer, withProgress } from './output.ts'
import { type AddCommand, addOptionFlags, loadCommandOptions } from './program.ts'

/** `platnet plan` ends with exit code 3 if the kernel's rules differ from the wanted ones, or if that is not known of some. */
export const addPlanCommand: AddCommand = (program, context) => {
  const command = program
    .command('plan')
    .description('shows how the rules of the kernel differ from what they should be; changes nothing')
    .addOption(outputFlag())
  addOptionFlags(command, 'agent', ['config', 'controlSocket']).action(async ({ output }: { output: OutputFormat }) => {
    const { values } = await loadCommandOptions(command, context, 'agent')
    const plan = await withProgress(context, 'comparing with the kernel', askPlan(values.node.controlSocket))
    printAnswer(context, output, plan, renderPlan)
    if (plan.families.some(({ differences, unknown }) => unknown !== undefined || differences.length > 0))
      context.finish(exitCodes.unhealthy)
  })
}

type Family = PlanAnswer['families'][number]
type Difference = Family['differences'][number]

const planes = { proxy: 'Services', policy: 'network policies' } as const

/** Formats removed lines, then added ones, like a diff. */
function renderPlan({ families }: PlanAnswer): string {
  return `${families.flatMap(renderFamily).join('\n')}\n`
}

function renderFamily({ plane, family, differences, unknown }: Family): readonly string[] {
  const subject = `${family} ${planes[plane]}`
  if (unknown !== undefined) return [`${subject}: it is not known what differs: ${unknown}`]
  if (differences.length === 0) return [`${subject}: the kernel holds the rules that it should`]
  return differences.flatMap((difference) => [
    `${family} ${difference.table} ${difference.chain}: ${difference.problem}`,
    ...changedLines(difference),
  ])
}

function changedLines({ wanted, found, problem }: Difference): string[] {
  if (problem === 'unwanted' && found.length === 0)
    return ['    without rules; it stays while rules of other programs jump to it']
  const [want, have] = [new Set(wanted), new Set(found)]
  const gone = found.filter((rule) => !want.has(rule)).map((rule) => `  - ${rule}`)
  const added = wanted.filter((rule) => !have.has(rule)).map((rule) => `  + ${rule}`)
  return gone.length + added.length > 0 ? [...gone, ...added] : ['    the same rules in another order']
}
