import type { Logger, LogLevel } from '../../src/observe/logger.ts'

/** Keeps what was logged, as `level message`. */
export function createRecordingLogger(): { log: Logger; lines: string[] } {
  const lines: string[] = []
  const write = (level: LogLevel) => (message: string) => {
    lines.push(`${level} ${message}`)
  }
  const log: Logger = {
    error: write('error'),
    warn: write('warn'),
    info: write('info'),
    debug: write('debug'),
    trace: write('trace'),
    enabled: () => true,
    child: () => log,
  }
  return { log, lines }
}
