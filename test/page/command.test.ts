/** The `page` command: rejected options, the report file, and serving until a signal. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCli, startCli } from '../support/cli.js'
import { jsonAs } from '../support/json.js'
import { keepEngines } from '../support/kept-engines.js'
import { longTest } from '../support/length.js'

keepEngines()

const cwd = mkdtempSync(join(tmpdir(), 'context-ledger-page-'))
const run = async (...words: readonly string[]): ReturnType<typeof runCli> => await runCli(words, { cwd })

beforeAll(async () => {
  writeFileSync(
    join(cwd, 'harbour.jsonl'),
    Array.from({ length: 12 }, (_none, at) =>
      JSON.stringify({
        id: `m${String(at)}`,
        role: at % 2 === 0 ? 'user' : 'assistant',
        content: `<b>${String(at)}</b> the berth is booked twice`,
      }),
    ).join('\n'),
  )
  const { status, stderr } = await run('import', 'harbour.jsonl')
  if (status !== 0) throw new Error(stderr)
})
afterAll(() => {
  rmSync(cwd, { recursive: true, force: true })
})

describe('page', () => {
  it('refuses what does not go together', async () => {
    expect(await run('page', '--html', 'x.html')).toMatchObject({ status: 2 })
    expect(await run('page', 'harbour', '--html', 'x.html', '--port', '1')).toMatchObject({ status: 2 })
    expect(await run('page', '--port', '99999')).toMatchObject({ status: 2 })
    expect((await run('page', 'harbor')).stderr).toContain('harbour')
  })

  it('writes the report of a conversation as one file, and never over another', async () => {
    const { status, stdout } = await run('page', 'harbour', '--html', 'report.html', '--json')
    const report = readFileSync(join(cwd, 'report.html'), 'utf8')
    expect([status, JSON.parse(stdout)]).toEqual([
      0,
      { file: 'report.html', conversationId: 'harbour', bytes: Buffer.byteLength(report) },
    ])
    expect(report).toContain('&lt;b&gt;11&lt;/b&gt; the berth is booked twice')
    expect(report).toContain('default-src &#39;none&#39;; style-src &#39;sha256-')
    expect(report).not.toMatch(/<script|<b>11|https?:\/\//u)
    const second = await run('page', 'harbour', '--html', 'report.html')
    expect([second.status, second.stderr]).toEqual([2, expect.stringContaining('already exists')])
    expect((await run('page', 'harbour', '--html', 'nowhere/report.html')).status).toBe(2)
  })

  longTest('serves until it is told to end', async () => {
    const served = startCli(['page', 'harbour', '--json'], { cwd })
    const [line] = await once(served.stdout, 'data')
    const { url } = jsonAs<{ readonly url: string }>(String(line))
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/conversation\?token=[\w-]{43}&c=harbour$/u)
    const entered = await fetch(url, { redirect: 'manual' })
    const cookie = entered.headers.get('set-cookie')?.split(';')[0] ?? ''
    const { origin } = new URL(url)
    const response = await fetch(`${origin}${entered.headers.get('location') ?? ''}`, { headers: { cookie } })
    expect([response.status, (await response.text()).includes('the berth is booked twice')]).toEqual([200, true])
    expect((await fetch(origin)).status).toBe(403)
    served.kill('SIGTERM')
    expect(await once(served, 'close')).toEqual([0, null])
  })
})
