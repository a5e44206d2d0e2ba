/** A name longer than this is shown by its beginning: an error is for people. */
const maxShownLength = 1_000

export function shorten(text: string): string {
  return text.length <= maxShownLength ? text : `${text.slice(0, maxShownLength)}…`
}
