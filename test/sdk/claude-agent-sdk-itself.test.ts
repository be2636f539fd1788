/**
 * The Claude Agent SDK itself over the session store, with a scripted program in the place of Claude Code's: the package
 * without its binaries (`npm install --omit=optional --no-save --prefix DIR @anthropic-ai/claude-agent-sdk`) is in the
 * folder that CONTEXT_LEDGER_TEST_CLAUDE_AGENT_SDK names.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { claudeAgentSdk } from '../../examples/claude-agent-sdk.js'
import { openLedger, type Ledger } from '../../src/index.js'
import { ledgerSessionStore, type LedgerSessionStore } from '../../src/interfaces/sdk/claude-agent-sdk/index.js'

const folder = process.env['CONTEXT_LEDGER_TEST_CLAUDE_AGENT_SDK'] ?? ''
const describeWithSdk = folder === '' ? describe.skip : describe

/** What is asked of the package; its own types are not installed. */
interface Sdk {
  query(asked: { prompt: string; options: object }): AsyncIterable<{
    readonly type: string
    readonly subtype?: string
    readonly session_id?: string
    readonly result?: string
  }>
  readonly InMemorySessionStore: new () => LedgerSessionStore
  listSessions(options: object): Promise<unknown[]>
  getSessionInfo(id: string, options: object): Promise<object>
  getSessionMessages(id: string, options: object): Promise<unknown[]>
  listSubagents(id: string, options: object): Promise<string[]>
  getSubagentMessages(id: string, agent: string, options: object): Promise<unknown[]>
  importSessionToStore(id: string, store: LedgerSessionStore, options: object): Promise<void>
  renameSession(id: string, title: string, options: object): Promise<void>
  tagSession(id: string, tag: string, options: object): Promise<void>
  forkSession(id: string, options: object): Promise<{ readonly sessionId: string }>
  deleteSession(id: string, options: object): Promise<void>
}

describeWithSdk('the Claude Agent SDK (needs CONTEXT_LEDGER_TEST_CLAUDE_AGENT_SDK)', () => {
  let sdk: Sdk
  let ledger: Ledger
  let home: string
  const before = process.env['CLAUDE_CONFIG_DIR']
  const sample = readFileSync('examples/claude-code-session.jsonl', 'utf8')
  const sessionId = String(/"sessionId": ?"([^"]+)"/u.exec(sample)?.[1])
  const program = { pathToClaudeCodeExecutable: join(process.cwd(), 'test/support/claude-program.mjs') }

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'claude-home-'))
    process.env['CLAUDE_CONFIG_DIR'] = home
    const path = join(folder, 'node_modules/@anthropic-ai/claude-agent-sdk/sdk.mjs')
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its types are not installed
    sdk = (await import(pathToFileURL(path).href)) as Sdk
    ledger = await openLedger({ store: 'memory' })
  })
  afterAll(async () => {
    await ledger.close()
    if (before === undefined) delete process.env['CLAUDE_CONFIG_DIR']
    else process.env['CLAUDE_CONFIG_DIR'] = before
    rmSync(home, { recursive: true, force: true })
  })

  const env = () => ({ ...process.env, CLAUDE_CONFIG_DIR: home })

  it('mirrors a session into the ledger as it runs, and resumes it from there, its sub-agent too', async () => {
    const sessionStore = ledgerSessionStore({ ledger })
    const run = async (resume?: string): Promise<string[]> => {
      const texts: string[] = []
      const options = { ...program, env: env(), sessionStore, ...(resume === undefined ? {} : { resume }) }
      for await (const { type, subtype, result } of sdk.query({ prompt: 'Go on.', options }))
        if (type === 'result') texts.push(String(result))
        else if (subtype === 'mirror_error') texts.push('mirror_error')
      return texts
    }
    expect(await run()).toEqual(['found nothing'])
    // The program has cleaned up.
    rmSync(join(home, 'projects'), { recursive: true, force: true })
    expect(await run(sessionId)).toEqual(['found 20 and 2 lines'])
    const project = process.cwd().replaceAll(/[^A-Za-z0-9]/gu, '-')
    expect((await sessionStore.listSessions(project)).map((session) => session.sessionId)).toEqual([sessionId])
    const otherLedger = await openLedger({ store: 'memory' })
    await otherLedger.transcripts.import('examples/claude-code-session.jsonl')
    const observed = `claude-code/${sessionId}`
    expect((await ledger.context(observed)).messages).toEqual((await otherLedger.context(observed)).messages)
    await otherLedger.close()
    expect((await ledger.messages(`${observed}/agent-harbour1`)).messages).toHaveLength(2)
    expect((await ledger.forgotten(observed)).totals).toMatchObject({ all: { compactions: 1 } })
    expect((await ledger.admin.verify()).problems).toEqual([])
  })

  it('the example runs with it as it runs without', async () => {
    const texts: string[] = []
    const output = await claudeAgentSdk(
      (line) => texts.push(line),
      ({ prompt, options }) => sdk.query({ prompt, options: { ...options, ...program, env: env() } }),
    )
    expect(texts).toContain('result')
    expect(output).toEqual({ lines: 43, compactions: 1 })
  })

  it('its functions give of this store what they give of the SDK’s own', async () => {
    const secondLedger = await openLedger({ store: 'memory' })
    const dir = join(home, 'work')
    mkdirSync(dir)
    const project = join(home, 'projects', dir.replaceAll(/[^A-Za-z0-9]/gu, '-'))
    const agents = join(project, sessionId, 'subagents')
    mkdirSync(agents, { recursive: true })
    writeFileSync(join(project, `${sessionId}.jsonl`), sample)
    const question = { ...JSON.parse(sample.split('\n', 1)[0] ?? ''), isSidechain: true, agentId: 'harbour1' }
    writeFileSync(join(agents, 'agent-harbour1.jsonl'), `${JSON.stringify(question)}\n`)

    const ask = async (sessionStore: LedgerSessionStore): Promise<unknown> => {
      const options = { dir, sessionStore }
      await sdk.importSessionToStore(sessionId, sessionStore, { dir, batchSize: 7 })
      await sdk.importSessionToStore(sessionId, sessionStore, { dir })
      await sdk.renameSession(sessionId, 'The lost rows', options)
      await sdk.tagSession(sessionId, 'export', options)
      await sdk.deleteSession('00000000-0000-4000-8000-000000000000', options)
      const fork = await sdk.forkSession(sessionId, options)
      const contentsOf = async (id: string) =>
        (await sdk.getSessionMessages(id, options)).map((message) =>
          JSON.stringify(message, (name, value: unknown) =>
            /uuid|session|timestamp/iu.test(name) ? undefined : value,
          ),
        )
      const agent = (await sdk.listSubagents(sessionId, options))[0] ?? ''
      return {
        sessions: (await sdk.listSessions(options)).length,
        info: { ...(await sdk.getSessionInfo(sessionId, options)), lastModified: 0, fileSize: 0 },
        said: await contentsOf(sessionId),
        forked: await contentsOf(fork.sessionId),
        agent: [agent, await sdk.getSubagentMessages(sessionId, agent, options)],
      }
    }
    const answersOf = await ask(ledgerSessionStore({ ledger: secondLedger }))
    expect(answersOf).toEqual(await ask(new sdk.InMemorySessionStore()))
    expect(answersOf).toMatchObject({ sessions: 2, info: { customTitle: 'The lost rows', tag: 'export' } })
    expect((await secondLedger.admin.verify()).problems).toEqual([])
    await secondLedger.close()
  })
})
