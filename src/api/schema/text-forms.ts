import { canonicalQuantity } from '../../model/canonical-quantity.ts'
import { isQuantity } from '../../model/quantity.ts'
import { hasTextFormat } from './formats.ts'

/** The type that clients decode a text into. One text of another form would make a whole list unreadable to them. */
export type TextForm = 'base64' | 'time' | 'micro-time' | 'quantity'

export const textForms: Readonly<Record<TextForm, string>> = {
  base64: 'text in base64',
  time: 'time in RFC 3339',
  'micro-time': 'time in RFC 3339',
  quantity: 'quantity',
}

/** Returns the text in its stored form; undefined where it has another form. */
export function readTextForm(form: TextForm, text: string): string | undefined {
  if (form === 'base64') return readBase64(text)
  if (form === 'quantity') return isQuantity(text) ? canonicalQuantity(text) : undefined
  if (!timeText.test(text) || !hasTextFormat('date-time', text)) return undefined
  return form === 'time' ? text : text.replace(/(?:\.(\d+))?(Z|[+-]..:..)$/, withMicroseconds)
}

const timeText = /^\d{4}-\d\d-\d\dT[^ ]+$/

/** Writes microseconds with exactly six digits, as clients written in Go read them. */
function withMicroseconds(_: string, digits = '', zone = 'Z'): string {
  return `.${digits.slice(0, 6).padEnd(6, '0')}${zone}`
}

function readBase64(text: string): string | undefined {
  const joined = text.includes('\n') || text.includes('\r') ? text.replace(/[\r\n]/g, '') : text
  return joined.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(joined) ? joined : undefined
}
