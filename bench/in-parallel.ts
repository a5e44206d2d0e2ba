/** Calls `work` for 0 to `count` - 1, sixteen at a time. */
export async function inParallel(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: 16 }, worker))
}
