import { Argument } from 'commander'
import { type CommandNode, describeCommand } from '../command-tree.ts'
import type { AddCommand } from '../program.ts'
import { bashCompletion } from './bash.ts'
import { fishCompletion } from './fish.ts'
import { zshCompletion } from './zsh.ts'

/** The shells with a completion, and what renders it. */
export const completions: Readonly<Record<'bash' | 'zsh' | 'fish', (root: CommandNode) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
}

/** `platnet completion SHELL` prints a script for the shell; the package installs what it prints. */
export const addCompletionCommand: AddCommand = (program, { stdout }) => {
  program
    .command('completion')
    .description('prints the completion for a shell: source <(platnet completion bash)')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(completions)))
    .action((shell: keyof typeof completions) => {
      stdout.write(completions[shell](describeCommand(program)))
    })
}
