import { type ConsoleState, findConsoles } from '../app/commands/console.ts'
import { exitCodes } from './exit-code.ts'
import { type OutputFormat, outputFlag, printAnswer } from './output.ts'
import { type AddCommand, addOptionFlags, loadCommandOptions } from './program.ts'

/** `platnet console` prints the addresses of the web consoles of this machine; exit code 1 if none answers. */
export const addConsoleCommand: AddCommand = (program, context) => {
  const command = program
    .command('console')
    .description('prints the address of the web console of this node and of the cluster')
    .addOption(outputFlag())
  addOptionFlags(command, 'agent', ['config', 'consolePort', 'serverConsolePort']).action(
    async ({ output }: { output: OutputFormat }) => {
      const { values } = await loadCommandOptions(command, context, 'agent')
      const consoles = await findConsoles(values.console)
      printAnswer(context, output, consoles, (all) => all.map(render).join(''))
      if (!consoles.some(({ answers }) => answers)) context.finish(exitCodes.failure)
    },
  )
}

function render({ scope, url, answers, option }: ConsoleState): string {
  const missing = `  does not answer: no daemon with a console has that port (--console, ${option})`
  return `${scope.padEnd(8)} ${url}${answers ? '' : missing}\n`
}
