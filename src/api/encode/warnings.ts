/** All warnings of an answer together, and each one where that is too much: as Kubernetes cuts them. */
const maxTotalLength = 4_096
const maxLengthWhenCut = 256

/** `Warning` headers (RFC 7234, 5.5), one each text; the same text once. */
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

/** A header holds bytes: UTF-8 goes through as latin1, control characters do not. */
function renderWarning(text: string): string {
  const quoted = text.replace(/\p{Cc}/gu, ' ').replace(/["\\]/g, '\\$&')
  return `299 - "${Buffer.from(quoted).toString('latin1')}"`
}
