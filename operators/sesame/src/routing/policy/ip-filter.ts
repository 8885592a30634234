import { isIP } from 'node:net';
import type { ProxyVirtualHost } from '../../kinds/http-proxy.ts';
import type { AddressPolicy, AddressRange } from '../../model/policy.ts';
import { accept, type Result, refuse } from '../../result.ts';

type Rules = ProxyVirtualHost['ipAllowPolicy'];

export interface IpFilterProblem {
  readonly reason: 'IncompatibleIPAddressFilters' | 'IPFilterPolicyNotValid' | 'InvalidCIDR';
  readonly problem: string;
}

/** Undefined when there are no rules. */
export function ipFilter(allow: Rules, deny: Rules): Result<AddressPolicy, IpFilterProblem> | undefined {
  const hasAllow = (allow?.length ?? 0) > 0;
  const hasDeny = (deny?.length ?? 0) > 0;
  if (!hasAllow && !hasDeny) return undefined;
  if (hasAllow && hasDeny)
    return refuse({
      reason: 'IncompatibleIPAddressFilters',
      problem: 'ipAllowPolicy: there is also an ipDenyPolicy; keep one of them',
    });
  const ranges: AddressRange[] = [];
  for (const [index, { source, cidr }] of ((hasAllow ? allow : deny) ?? []).entries()) {
    const at = `${hasAllow ? 'ipAllowPolicy' : 'ipDenyPolicy'}[${index}]`;
    const range = cidrRange(cidr);
    if (!range)
      return refuse({
        reason: 'InvalidCIDR',
        problem: `${at}.cidr: ${JSON.stringify(cidr)} is neither an address nor a CIDR; write one such as 10.0.0.0/8`,
      });
    if (source !== 'Peer' && source !== 'Remote')
      return refuse({
        reason: 'IPFilterPolicyNotValid',
        problem: `${at}.source: ${JSON.stringify(source)} is not known; use Peer or Remote`,
      });
    ranges.push({ source, ...range });
  }
  return accept({ action: hasAllow ? 'allow' : 'deny', ranges });
}

function cidrRange(text: string): Pick<AddressRange, 'address' | 'prefixLength'> | undefined {
  const [address = '', length] = text.split('/');
  const family = isIP(address);
  if (family === 0) return undefined;
  const most = family === 4 ? 32 : 128;
  const bits = length === undefined ? most : /^\d+$/.test(length) ? Number(length) : -1;
  return bits < 0 || bits > most ? undefined : { address, prefixLength: bits };
}
