import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/index.ts'
import type { AppContext, Options } from '../context.ts'

/**
 * Reads the options again at each SIGHUP: live options hold at once, the log names the others. Options that do not parse change
 * nothing. `onLive` passes them to a supervised agent.
 */
export function reloadOnHangup(
  context: AppContext,
  processLog: Logger,
  onLive: (options: Options) => Promise<void>,
): void {
  const log = processLog.child('reload')
  const reload = async () => {
    const options = await context.readOptions()
    context.logging.setFilter(options.values.observe.logLevel)
    const waiting = changedOptions(context.options, options)
    log.info('options read again', waiting.length > 0 ? { holdAtTheNextStart: waiting } : {})
    await onLive(options)
  }
  process.on('SIGHUP', () => {
    reload().catch((error) =>
      log.error('the options could not be read again; those before stay in effect', { error: describeError(error) }),
    )
  })
}

/** Returns the keys of changed options that need a restart. */
export function changedOptions(before: Options, after: Options): readonly string[] {
  const shown = new Map(before.resolved.map((option) => [option.key, JSON.stringify(option.shown)]))
  return after.resolved
    .filter(({ key, spec, shown: value }) => spec.reload === 'restart' && shown.get(key) !== JSON.stringify(value))
    .map(({ key }) => key)
}
