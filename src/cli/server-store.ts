import type { Command } from 'commander'
import type { StoreOnDisk } from '../app/commands/back-up.ts'
import { withProgress } from './output.ts'
import type { CliContext } from './program.ts'

/** Adds `platnet server backup` and `restore`; `readStore` finds the store from the options of `platnet server`. */
export function addStoreCommands(server: Command, context: CliContext, readStore: () => Promise<StoreOnDisk>): void {
  server
    .command('backup')
    .description('copies the store to a file, also while the server runs; takes the options of `platnet server`')
    .argument('<file>')
    .action(async (file: string) => {
      const { backUp } = await import('../app/commands/back-up.ts')
      await withProgress(context, 'copying the store', backUp(await readStore(), file))
      context.stderr.write(`${file} holds the store; it is as secret as the data directory\n`)
    })
  server
    .command('restore')
    .description('replaces the store with a backup; the server must be stopped')
    .argument('<file>')
    .option('--force', 'replace a store that is there')
    .action(async (file: string, { force }: { force?: boolean }) => {
      const { restore } = await import('../app/commands/back-up.ts')
      const revision = restore(await readStore(), file, force === true)
      context.stderr.write(`restored; the store goes on at revision ${revision}\n`)
    })
}
