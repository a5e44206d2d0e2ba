/** Reads the text of a switch in a query as Kubernetes does: all but `false` and `0` is true, the empty text too; an absent one is false. */
export function isSwitchedOn(text: string | null | undefined): boolean {
  return text !== null && text !== undefined && text !== '0' && text.toLowerCase() !== 'false'
}
