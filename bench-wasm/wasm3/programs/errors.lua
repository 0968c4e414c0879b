local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
print(fib(15), select('#', 1, 2, 3))
local fails, total = 0, 0
for i = 1, 500 do
  local ok, err = pcall(function(n) if n % 3 == 0 then error({n = n}) end; if n % 7 == 0 then error("seven " .. n, 0) end; return n end, i)
  if ok then total = total + err elseif type(err) == 'table' then fails = fails + err.n else fails = fails + #err end
end
print(total, fails)
local co = coroutine.wrap(function() for i = 1, 5 do coroutine.yield(i) end; error("done") end)
local parts = {}
while true do local ok, v = pcall(co); if not ok then parts[#parts + 1] = v:match("done"); break end; parts[#parts + 1] = tostring(v) end
print(table.concat(parts, " "))
print(xpcall(function() local t = nil; return t.x end, function(m) return "handled: " .. m:match("attempt.*") end))
print(string.format("%5.2f|%s|%q", 3.14159, ("x"):rep(3), "a\nb"), #arg)
print(load("return 1 +")) 
