import { describeError } from '../model/errors.ts'
import type { Logger } from '../observe/logger.ts'
import { type Run, runProgram } from './programs/index.ts'

/** Reports the state of the service to systemd (sd_notify(3)). Never fails: a failed report is only logged. */
export interface Notifier {
  /** `READY=1`: units that wait for this one start. */
  ready(status: string): Promise<void>
  /** One line for `systemctl status`. */
  status(status: string): Promise<void>
  stopping(): Promise<void>
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
  return {
    ready: (status) => send('--ready', `--status=${oneLine(status)}`),
    status: (status) => send(`--status=${oneLine(status)}`),
    stopping: () => send('STOPPING=1'),
  }
}

/** Replaces line breaks, because each line is a variable of its own. */
function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}
