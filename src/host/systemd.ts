import { describeError } from '../model/errors.ts'
import type { Logger } from '../observe/logger.ts'
import { type Run, runProgram } from './programs/index.ts'

/** Reports the state of the service to systemd (sd_notify(3)). Never fails: a failed report is only logged. */
export interface Notifier {
  /** `READY=1`: units that wait for this one start. */
  ready(status: string): Promise<void>
  /** `WATCHDOG=1`: the service works. `status` is sent where it has changed. */
  alive(status: string): Promise<void>
  stopping(): Promise<void>
}

/** Reads how often systemd expects `alive` at least, in ms (WatchdogSec=, sd_watchdog_enabled(3)); undefined if it expects none from this process. */
export function readWatchdogMs(env: Readonly<Record<string, string | undefined>>): number | undefined {
  const microseconds = Number(env['WATCHDOG_USEC'])
  const isOurs = [undefined, String(process.pid)].includes(env['WATCHDOG_PID'])
  return isOurs && microseconds > 0 ? microseconds / 1000 : undefined
}

/**
 * Reports through the program systemd-notify, because Node cannot send Unix datagrams; the unit needs `NotifyAccess=all`. Does nothing
 * without NOTIFY_SOCKET, which only systemd sets.
 */
export function createNotifier(
  log: Logger,
  env: Readonly<Record<string, string | undefined>>,
  run: Run = runProgram,
): Notifier {
  const send = async (...args: readonly string[]): Promise<void> => {
    const socket = env['NOTIFY_SOCKET']
    if (!socket) return
    try {
      // Without --pid, because that would declare this process, perhaps a supervised child, the main one.
      await run('systemd-notify', args, { timeoutMs: 5000, env: { NOTIFY_SOCKET: socket } })
    } catch (error) {
      log.warn('the state of the service was not reported to systemd', { error: describeError(error) })
    }
  }
  let shown = ''
  const withStatus = (status: string): readonly string[] => {
    const line = oneLine(status)
    if (line === shown) return []
    shown = line
    return [`--status=${line}`]
  }
  return {
    ready: (status) => send('--ready', ...withStatus(status)),
    alive: (status) => send(...withStatus(status), 'WATCHDOG=1'),
    stopping: () => send('STOPPING=1'),
  }
}

/** Replaces line breaks, because each line is a variable of its own. */
function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}
