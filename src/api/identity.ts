/** An identity: of the caller, or of the user that it impersonates. */
export interface User {
  readonly name: string
  readonly groups: readonly string[]
  readonly uid?: string
  /** Further attributes of the user, by key. */
  readonly extra?: Readonly<Record<string, readonly string[]>>
}
