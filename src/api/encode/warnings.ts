/** The length limit of all warnings together; beyond it each one is cut, as in Kubernetes. */
const maxTotalLength = 4_096
const maxLengthWhenCut = 256

/** Renders `Warning` headers (RFC 7234, 5.5), one per text; duplicates are dropped. */
export function renderWarnings(texts: readonly string[]): readonly string[] {
  const distinct = [...new Set(texts)]
  const total = distinct.reduce((sum, text) => sum + [...text].length, 0)
  return (total > maxTotalLength ? cutWarnings(distinct) : distinct).map(renderWarning)
}

function cutWarnings(texts: readonly string[]): readonly string[] {
  let room = maxTotalLength
  const cut = texts.map((text) => [...text].slice(0, maxLengthWhenCut))
  return cut
    .filter((characters) => {
      room -= characters.length
      return room >= 0
    })
    .map((characters) => characters.join(''))
}

/** Renders one warning. A header holds bytes: UTF-8 goes through as latin1, control characters are removed. */
function renderWarning(text: string): string {
  const quoted = text.replace(/\p{Cc}/gu, ' ').replace(/["\\]/g, '\\$&')
  return `299 - "${Buffer.from(quoted).toString('latin1')}"`
}
