import { FileWatch } from '../../host/index.ts'
import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/index.ts'
import type { AppContext } from '../context.ts'

/**
 * Reads the options again at each SIGHUP and when the configuration file changes: live options hold at once, the log names the others. Options
 * that do not parse change nothing. `onRead` is called after each attempt.
 */
export function reloadOnChange(context: AppContext, processLog: Logger, onRead: () => void): void {
  const log = processLog.child('reload')
  let isReading = Promise.resolve()
  const reload = (because: string) => {
    isReading = isReading.then(() => readAgain(context, log, because)).then(onRead)
  }
  process.on('SIGHUP', () => reload('SIGHUP'))
  const path = context.options.values.app.config
  if (path !== undefined) new FileWatch(path, () => reload('the configuration file has changed')).start()
}

/** Keeps the process alive at a SIGHUP that its supervisor gets too: a closed terminal and `systemctl kill` send it to both. */
export function leaveReloadToSupervisor(): void {
  process.on('SIGHUP', () => {})
}

/** Reads the options and puts the live ones into effect. Never throws. */
export async function readAgain(
  { live, readOptions }: Pick<AppContext, 'live' | 'readOptions'>,
  log: Logger,
  because: string,
): Promise<void> {
  try {
    const { changed, waiting } = live.take(await readOptions(), Date.now())
    const facts = { because, ...(changed.length > 0 && { changed }), ...(waiting.length > 0 && { waiting }) }
    if (waiting.length > 0) log.warn('options read again; those that wait hold at the next start', facts)
    else log.info('options read again', facts)
  } catch (error) {
    const problem = describeError(error)
    live.refuse(problem, Date.now())
    log.error('the options could not be read again; those before stay in effect', { because, error: problem })
  }
}
