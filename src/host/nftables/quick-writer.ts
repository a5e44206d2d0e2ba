/** A way to hand over commands without starting a program. */
export interface QuickWriter {
  readonly kind: 'library' | 'interactive'
  /** The largest text it takes, in characters. */
  readonly maxLength: number
  /** Port of the netlink socket that its commits come from; undefined if it is not known. */
  readonly portId: number | undefined
  /** Runs one transaction; returns what is wrong with it, or undefined after success. Throws NftError if that is not known. */
  attempt(commands: string): Promise<string | undefined>
  close(): Promise<void>
}
