import { z } from 'zod'
import { declareOptions } from '../../config/index.ts'

const commands = ['run', 'agent'] as const

const expectedLog = 'off, on or whole seconds from 1 to 3600'
const defaultLogSeconds = 10

/** Undefined for `off`; `on` is every ten seconds. */
const logInterval = z.codec(
  z.union([z.string(), z.number(), z.boolean()], { error: `expected ${expectedLog}` }),
  z.number().optional(),
  {
    decode: (input, context) => {
      const text = String(input)
      if (text === 'off' || text === 'false') return undefined
      if (text === 'on' || text === 'true') return defaultLogSeconds
      const seconds = /^\d{1,4}$/.test(text) ? Number(text) : 0
      if (seconds >= 1 && seconds <= 3600) return seconds
      context.issues.push({ code: 'custom', input, message: `expected ${expectedLog}` })
      return z.NEVER
    },
    encode: (seconds) => seconds ?? 'off',
  },
)

export const policyOptions = declareOptions({
  policyUnknownPods: {
    schema: z.enum(['allow', 'deny'], { error: 'expected allow or deny' }),
    flag: '--policy-unknown-pods <verdict>',
    default: 'allow',
    reload: 'restart',
    commands,
    description:
      "Whether an address of this node's pod network that no known pod has may send and receive; a pod that the network plugin has announced is isolated in either case until it is known",
  },
  policyLogDenied: {
    schema: logInterval,
    flag: '--policy-log-denied <when>',
    default: 'off',
    reload: 'restart',
    commands,
    description:
      'Log what NetworkPolicies deny, each source, destination and port once in a while: off, on, or how often in seconds',
    example: 'on',
  },
})
