import { z } from 'zod'
import { declareOptions, plainText } from '../config/index.ts'

export const observeOptions = declareOptions({
  logLevel: {
    schema: plainText,
    flag: '--log-level <filter>',
    env: 'RUST_LOG',
    default: 'info',
    reload: 'live',
    description:
      'What is logged, in the grammar of RUST_LOG; a directive that cannot be parsed is reported and ignored',
    example: 'info,platform_traffic_proxy=debug',
  },
  logFormat: {
    schema: z.enum(['auto', 'json', 'pretty', 'journald']),
    flag: '--log-format <format>',
    default: 'auto',
    reload: 'restart',
    description: 'The format of log lines: json, pretty, journald, or auto for the one that fits the output',
  },
})
