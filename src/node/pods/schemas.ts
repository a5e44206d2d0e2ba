import { z } from 'zod'

export const maxListLength = 1000

/** Reads an absent or null field as `value`. */
export const absentAs = <S extends z.ZodType>(schema: S, value: z.output<S>) =>
  z.preprocess((json) => (json === null ? undefined : json), schema.optional()).transform((found) => found ?? value)

export const text = z.string().refine((value) => !value.includes('\0'), 'expected text without a zero byte')
export const dnsLabel = z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'expected a DNS label')
