/**
 * How nft lists the rules of one version, as read after they were written. What another program changes between the write and the reading is in the text that is
 * read, and must not count as ours from then on.
 */
export class SettledListing {
  #version = ''
  #listing = ''
  #doubted: string | undefined

  /** Takes what was read after a write; returns the listing of these rules. A text that is read after two writes is accepted: another nft lists otherwise. */
  settle(version: string, read: string): string {
    if (version !== this.#version || read === this.#doubted) this.#listing = read
    this.#version = version
    this.#doubted = read === this.#listing ? undefined : read
    return this.#listing
  }
}
