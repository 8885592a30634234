// Attributes of Set-Cookie are rewritten by a Lua script that is part of the route.
import type { CookieRewrite } from '../../model/policy.ts';

/** Policies of services come first, then those of routes: the first policy for a name counts. */
export function cookieProblem(policies: readonly CookieRewrite[]): string | undefined {
  const seen = new Set<string>();
  for (const [index, { name, pathRewrite, domainRewrite, secure, sameSite }] of policies.entries()) {
    const at = `cookieRewritePolicies[${index}]`;
    if (seen.has(name)) return `${at}.name: ${JSON.stringify(name)} has another policy; merge the two`;
    seen.add(name);
    if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name))
      return `${at}.name: ${JSON.stringify(name)} is no cookie name; use letters, digits and !#$%&'*+-.^_\`|~`;
    if (pathRewrite === undefined && domainRewrite === undefined && secure === undefined && sameSite === undefined)
      return `${at}: it rewrites nothing; set pathRewrite, domainRewrite, secure or sameSite`;
    if (sameSite !== undefined && !['Strict', 'Lax', 'None'].includes(sameSite))
      return `${at}.sameSite: ${JSON.stringify(sameSite)} is not known; use Strict, Lax or None`;
    if (pathRewrite !== undefined && /[;\p{Cc}]/u.test(pathRewrite.value))
      return `${at}.pathRewrite.value: ${JSON.stringify(pathRewrite.value)} is no path; leave out ";" and control characters`;
    if (domainRewrite !== undefined && !/^[A-Za-z0-9.-]+$/.test(domainRewrite.value))
      return `${at}.domainRewrite.value: ${JSON.stringify(domainRewrite.value)} is no domain; use letters, digits, "." and "-"`;
  }
  return undefined;
}

export function mergeCookieRewrites(
  service: readonly CookieRewrite[],
  route: readonly CookieRewrite[],
): CookieRewrite[] {
  const names = new Set(service.map(({ name }) => name));
  return [...service, ...route.filter(({ name }) => !names.has(name))];
}

/** The script that rewrites them. */
export function cookieScript(policies: readonly CookieRewrite[]): string {
  const rules = policies.map(({ name, pathRewrite, domainRewrite, secure, sameSite }) => {
    const attributes = [
      ...(pathRewrite ? [`Path=${luaText(pathRewrite.value)}`] : []),
      ...(domainRewrite ? [`Domain=${luaText(domainRewrite.value)}`] : []),
      ...(secure === undefined ? [] : [`Secure=${secure ? 'true' : 'false'}`]),
      ...(sameSite ? [`SameSite=${luaText(sameSite)}`] : []),
    ];
    return `[${luaText(name)}]={${attributes.join(',')}}`;
  });
  return SCRIPT.replace('RULES', `{${rules.join(',')}}`);
}

function luaText(text: string): string {
  return `"${text.replace(/[\\"\n\r]/g, (each) => ({ '\\': '\\\\', '"': '\\"', '\n': '\\n' })[each] ?? '')}"`;
}

const SCRIPT = `
local rules = RULES

local function rewrite(cookie)
  local name = string.match(cookie, "^%s*([^=;]+)=")
  local rule = name and rules[name]
  if not rule then return cookie end
  local parts, done = {}, {}
  local first = true
  for part in string.gmatch(cookie, "([^;]+)") do
    part = string.gsub(part, "^%s+", "")
    local key = string.lower(string.match(part, "^([^=]+)") or "")
    local keep = true
    if not first then
      for attribute, value in pairs(rule) do
        if string.lower(attribute) == key then
          done[attribute] = true
          if value == true then part = attribute
          elseif value == false then keep = false
          else part = attribute .. "=" .. value end
        end
      end
    end
    first = false
    if keep then table.insert(parts, part) end
  end
  for _, attribute in ipairs({"Path", "Domain", "Secure", "SameSite"}) do
    local value = rule[attribute]
    if value ~= nil and value ~= false and not done[attribute] then
      if value == true then table.insert(parts, attribute)
      else table.insert(parts, attribute .. "=" .. value) end
    end
  end
  return table.concat(parts, "; ")
end

function envoy_on_response(handle)
  local cookies = {}
  for key, value in pairs(handle:headers()) do
    if key == "set-cookie" then table.insert(cookies, rewrite(value)) end
  end
  if #cookies == 0 then return end
  handle:headers():remove("set-cookie")
  for _, cookie in ipairs(cookies) do handle:headers():add("set-cookie", cookie) end
end
`;
