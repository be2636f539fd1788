/** A resident reader is killed at any moment, while commands read and write: nothing is lost, no answer is wrong. */
import { expect, it } from '@jest/globals'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { repeated } from '../support/length.js'
import { runCli, spawnCli } from '../support/cli.js'
import { RESIDENT } from '../support/resident.js'

const KILLS = repeated(20, 3)

it('kills under commands and writers', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'resident-kill-'))
  const store = join(cwd, 'ledger')
  const append = async (content: string): Promise<void> => {
    const input = JSON.stringify({ role: 'user', content })
    expect((await runCli(['append', 'run', '--store', store], { cwd, input })).status).toBe(0)
  }
  try {
    await append('message 0')
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const resident = spawn(process.execPath, [RESIDENT, store], { stdio: 'ignore' })
      const timer = setTimeout(() => resident.kill('SIGKILL'), kill * 97)
      // Reads go through the resident reader while it lives.
      const read = async (): Promise<void> => {
        const { status, stdout } = await spawnCli(['log', 'run', '--json', '--store', store], { cwd })
        const found = stdout.match(/"MessageAppended/gu)?.length ?? 0
        // A reader whose owner is killed may fail, and then says so by its status.
        expect(status !== 0 || found === kill || found === kill + 1).toBe(true)
      }
      await Promise.all([read(), read()])
      await append(`message ${String(kill)}`)
      const { status, stdout } = await spawnCli(['log', 'run', '--json', '--store', store], { cwd })
      const found = stdout.match(/"MessageAppended/gu)?.length ?? 0
      expect([status, found]).toEqual([0, kill + 1])
      if (resident.exitCode === null && resident.signalCode === null) await once(resident, 'exit')
      clearTimeout(timer)
    }
    expect((await runCli(['verify', '--store', store], { cwd })).status).toBe(0)
  } finally {
    rmSync(cwd, { recursive: true, force: true })
  }
}, 600_000)
