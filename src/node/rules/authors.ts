const named = 3

interface Author {
  readonly pid?: number
  readonly program?: string
}

/** Names the programs that made these commits, `nft (pid 4711)`, each once and at most three; undefined where the kernel named none. */
export function authorsOf(commits: readonly Author[]): string | undefined {
  const authors = new Set(
    commits.flatMap(({ pid, program }) => (program === undefined ? [] : [describe(program, pid)])),
  )
  if (authors.size === 0) return undefined
  const more = authors.size > named ? ` and ${authors.size - named} more` : ''
  return [...authors].slice(0, named).join(', ') + more
}

function describe(program: string, pid: number | undefined): string {
  return pid === undefined ? program : `${program} (pid ${pid})`
}
