import { type Command, Option } from 'commander'
import type { StoreOnDisk } from '../app/commands/back-up.ts'
import type { StoreName } from '../app/commands/migrate.ts'
import type { Options } from '../app/context.ts'
import { withProgress } from './output.ts'
import type { CliContext } from './program.ts'

const stores: readonly StoreName[] = ['sqlite', 'etcd']

/** Adds `platnet server migrate`. */
export function addMigrateCommand(server: Command, context: CliContext, readOptions: () => Promise<Options>): void {
  server
    .command('migrate')
    .description('copies the state between SQLite and etcd, to an empty target; every server must be stopped')
    .addOption(new Option('--from <store>', 'where the state is').choices(stores).makeOptionMandatory())
    .addOption(new Option('--to <store>', 'where it goes').choices(stores).makeOptionMandatory())
    .action(async (way: { from: StoreName; to: StoreName }) => {
      const { migrate } = await import('../app/commands/migrate.ts')
      const { stderr } = context
      const count = await migrate(await readOptions(), way, (done, all) => {
        if (stderr.isTTY === true) stderr.write(`\r${done} of ${all} keys`)
      })
      if (stderr.isTTY === true) stderr.write('\r\u001b[K')
      stderr.write(`${count} keys are in ${way.to}; start every server with --store ${way.to}\n`)
    })
}

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
