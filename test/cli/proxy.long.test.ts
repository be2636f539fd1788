/** The `proxy` command in a child process, killed (-9) between requests and during them. */
import { expect } from '@jest/globals'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger } from '../../src/index.js'
import { startCli } from '../support/cli.js'
import { longTest } from '../support/length.js'
import { chat } from '../support/upstream-answers.js'
import { startUpstream } from '../support/upstream-stub.js'

const KILLS = 3

/** Starts the proxy and waits for its address. */
async function start(
  store: string,
  upstream: string,
): Promise<{ readonly child: ChildProcessWithoutNullStreams; readonly url: string }> {
  const child = startCli(['proxy', '--upstream', upstream, '--port', '0', '--store', store])
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (text: Buffer) => {
      resolve(text.toString('utf8').trim())
    })
    child.once('exit', (code) => {
      reject(new Error(`ended with ${String(code)}`))
    })
  })
  return { child, url }
}

longTest(
  'a proxy that is killed again and again loses no answer that it recorded, and records none twice',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'proxy-'))
    const store = join(folder, 'ledger')
    const upstream = await startUpstream()
    const list: object[] = [{ role: 'user', content: 'turn 0' }]
    const texts = ['turn 0']
    const ask = async (url: string): Promise<string> =>
      await (
        await fetch(`${url}/v1/chat/completions`, {
          method: 'POST',
          body: JSON.stringify({ model: 'm', messages: list, stream: true }),
        })
      ).text()
    try {
      for (let turn = 0; turn <= KILLS; turn += 1) {
        const { child, url } = await start(store, upstream.url)
        const answer = `answer ${String(turn)}, and some more of it`
        if (turn > 0 && turn < KILLS) {
          // Killed during a response: the client retries.
          upstream.answerWith({ chunks: chat.events({ text: answer }).slice(0, 3), ending: 'hang' })
          const asking = ask(url).catch(() => 'broken')
          while (upstream.calls.length === 0)
            await new Promise((resolve) => {
              setTimeout(resolve, 5)
            })
          child.kill('SIGKILL')
          await once(child, 'exit')
          expect(await asking).toBe('broken')
          upstream.calls.length = 0
        }
        const restarted =
          child.exitCode === null && child.signalCode === null ? { child, url } : await start(store, upstream.url)
        upstream.answerWith({ chunks: chat.events({ text: answer }) })
        expect(await ask(restarted.url)).toContain('[DONE]')
        upstream.calls.length = 0
        // On a signal, it records the forwarded requests before it ends.
        restarted.child.kill('SIGINT')
        await once(restarted.child, 'exit')
        texts.push(answer, `turn ${String(turn + 1)}`)
        list.push({ role: 'assistant', content: answer }, { role: 'user', content: `turn ${String(turn + 1)}` })
      }
      const ledger = await openLedger({ store })
      const { conversations } = await ledger.list()
      expect(conversations).toHaveLength(1)
      const id = conversations[0]?.conversationId ?? ''
      expect((await ledger.context(id)).messages.map(({ content }) => content)).toEqual(texts.slice(0, -1))
      expect((await ledger.admin.verify()).problems).toEqual([])
      await ledger.close()
    } finally {
      await upstream.close()
      await rm(folder, { recursive: true, force: true })
    }
  },
  180_000,
)
