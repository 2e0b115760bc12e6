import { describe, expect, it } from 'vitest'
import { type MpsClient, MpsDaemon } from '../src/mps-daemon.js'

function daemon() {
  let pid = 100
  const stopped: number[] = []
  const state = new MpsDaemon(() => {
    const own = pid++
    return { pid: own, stop: () => stopped.push(own) }
  })
  const ask = async (line: string) => (await state.command(line)).output
  return { state, ask, stopped }
}

function client(pid: number, ended: number[] = []): MpsClient {
  return { pid, deviceUuid: 'GPU-0', command: 'work', terminate: () => ended.push(pid) }
}

describe('MPS control daemon', () => {
  it('starts servers on request and with the first client, one per user', async () => {
    const { state, ask } = daemon()
    expect(await ask('get_server_list')).toBe('')
    await ask('start_server -uid 1000')
    expect(await ask('get_server_list')).toBe('100\n')
    expect(await ask('get_server_status 100')).toBe('ACTIVE\n')
    state.connect(1000, client(7))
    expect(await ask('get_server_list')).toBe('100\n')
    expect(await ask('get_client_list 100')).toBe('7\n')
    expect(await ask('get_device_client_list')).toBe('Device GPU-0\n7\n')
    expect(await ask('ps -p 7')).toMatch(/^PID +ID +SERVER.*\n7 +0 +100 +GPU-0 .*work\n$/)
    expect(() => state.connect(2000, client(8))).toThrow(expect.objectContaining({ cudaError: 807 }))
  })

  it('applies percentages to what comes later only', async () => {
    const { state, ask } = daemon()
    await ask('start_server -uid 1')
    expect(await ask('get_default_active_thread_percentage')).toBe('100.0\n')
    expect(await ask('set_default_active_thread_percentage 40')).toBe('40.0\n')
    expect(await ask('get_active_thread_percentage 100')).toBe('100.0\n')
    expect(await ask('set_active_thread_percentage 100 25')).toBe('25.0\n')
    expect(state.connect(1, client(7)).activeThreadPercentage).toBe(25)
    await ask('shutdown_server 100 -f')
    expect(state.connect(1, client(8)).activeThreadPercentage).toBe(40)
    expect(await ask('set_default_active_thread_percentage 0')).toMatch(/Invalid/)
    expect(await ask('get_active_thread_percentage 5')).toMatch(/not found/)
  })

  it('cuts off a client that is terminated', async () => {
    const { state, ask } = daemon()
    const ended: number[] = []
    state.connect(1, client(7, ended))
    await ask('terminate_client 100 7')
    expect(ended).toEqual([7])
    expect(await ask('get_client_list 100')).toBe('')
    expect(await ask('terminate_client 100 7')).toMatch(/not found/)
  })

  it('waits for its clients before it quits, and no longer than it may', async () => {
    const { state, ask, stopped } = daemon()
    const first = client(7)
    state.connect(1, first)
    let over = false
    const quit = state.command('quit').then((answer) => {
      over = true
      return answer
    })
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(over).toBe(false)
    expect(() => state.connect(1, client(8))).toThrow(expect.objectContaining({ cudaError: 805 }))
    state.disconnect(first)
    expect(await quit).toEqual({ output: '', quit: true })
    expect(stopped).toEqual([100])
    expect(await ask('get_server_list')).toBe('')

    const other = daemon()
    const ended: number[] = []
    other.state.connect(1, client(9, ended))
    expect(await other.state.command('quit -t 0.02')).toMatchObject({ quit: true })
    expect(ended).toEqual([9])
  })

  it('refuses the 49th client', () => {
    const { state } = daemon()
    for (let pid = 1; pid <= 48; pid++) state.connect(1, client(pid))
    expect(() => state.connect(1, client(49))).toThrow(expect.objectContaining({ cudaError: 808 }))
  })

  it('knows what it does not know', async () => {
    const { ask } = daemon()
    expect(await ask('make_coffee')).toBe('Unknown command "make_coffee"\n')
  })
})
