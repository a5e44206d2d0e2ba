import { describeError } from '../model/errors.ts'
import type { Logger } from '../observe/logger.ts'
import { runProgram } from './exec.ts'

/** Tells systemd how the service is (sd_notify(3)). Never fails: at worst nobody hears it. */
export interface Notifier {
  /** `READY=1`: units that wait for this one start. */
  ready(status: string): Promise<void>
  /** One line for `systemctl status`. */
  status(status: string): Promise<void>
  stopping(): Promise<void>
}

/**
 * Uses the program systemd-notify, as Node cannot send Unix datagrams; the unit needs `NotifyAccess=all`. Does nothing where
 * NOTIFY_SOCKET is not set, which is anywhere but under systemd.
 */
export function createNotifier(log: Logger, env: Readonly<Record<string, string | undefined>>): Notifier {
  const send = async (...args: readonly string[]): Promise<void> => {
    const socket = env['NOTIFY_SOCKET']
    if (!socket) return
    try {
      // No --pid: it would make this process the main one, which a supervised child is not.
      await runProgram('systemd-notify', args, { timeoutMs: 5000, env: { NOTIFY_SOCKET: socket } })
    } catch (error) {
      log.warn('systemd was not told how the service is', { error: describeError(error) })
    }
  }
  return {
    ready: (status) => send('--ready', `--status=${oneLine(status)}`),
    status: (status) => send(`--status=${oneLine(status)}`),
    stopping: () => send('STOPPING=1'),
  }
}

/** A line break would begin another variable. */
function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}
