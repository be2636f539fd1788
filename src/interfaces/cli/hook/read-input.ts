/** Reads the input that an agent gives to a hook. */
const MOST_INPUT = 4_000_000

export async function readInput(): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MOST_INPUT) throw new Error('the input has more than 4 MB')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
