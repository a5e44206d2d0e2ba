/** The length limit of a name in an error; a longer one is cut, because people read the error. */
const maxShownLength = 1_000

export function shorten(text: string): string {
  return text.length <= maxShownLength ? text : `${text.slice(0, maxShownLength)}…`
}
