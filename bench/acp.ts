/**
 * The delay that `acp` adds between an editor and an agent: 1,000 requests, each answered at once by an agent that only
 * echoes, with the relay and without it, in turns.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { against, milliseconds, type Figure, type Group } from './support/figures.js'
import { inTurns, median, timed } from './support/measure.js'
import { root } from './support/root.js'

const REQUESTS = 1_000
const PROGRAM = join(root, 'dist', 'src', 'interfaces', 'cli', 'main.js')
const ECHO = 'process.stdin.pipe(process.stdout)'
/** A streamed piece of an answer, in its usual size. */
const LINE = `${JSON.stringify({
  jsonrpc: '2.0',
  method: 'session/update',
  params: {
    sessionId: 's1',
    update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'The quay is 40 m long. ' } },
  },
})}\n`

/** Sends a line and waits until it comes back. */
async function exchanged({ stdin, stdout }: ChildProcessWithoutNullStreams): Promise<number[]> {
  return [
    await timed(async () => {
      let received = 0
      stdin.write(LINE)
      while (received < LINE.length) {
        const [chunk]: unknown[] = await once(stdout, 'data')
        received += Buffer.isBuffer(chunk) ? chunk.length : 0
      }
    }),
  ]
}

export const group: Group = {
  title: 'An agent in an editor, recorded',
  anyEngine: true,
  async run(): Promise<Figure[] | string> {
    if (!existsSync(PROGRAM)) return 'the program is not built: `npm run build` makes it'
    const cwd = await mkdtemp(join(tmpdir(), 'bench-acp-'))
    const alone = spawn(process.execPath, ['-e', ECHO], { cwd })
    const relayed = spawn(process.execPath, [PROGRAM, 'acp', '--', process.execPath, '-e', ECHO], { cwd })
    try {
      // The first exchange waits for the processes.
      await Promise.all([exchanged(alone), exchanged(relayed)])
      const runs = await inTurns(REQUESTS, {
        alone: async () => await exchanged(alone),
        relayed: async () => await exchanged(relayed),
      })
      const [before, after] = [median(runs.alone), median(runs.relayed)]
      return [
        against('a line there and back, recorded', after, { most: before + 2 }, milliseconds, {
          name: 'without the relay',
          value: before,
        }),
      ]
    } finally {
      for (const child of [alone, relayed]) {
        const closed = once(child, 'close')
        child.stdin.end()
        child.kill()
        await closed
      }
      await rm(cwd, { recursive: true, force: true, maxRetries: 5 })
    }
  },
}
